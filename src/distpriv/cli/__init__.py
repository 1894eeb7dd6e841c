"""The command line: parse, call one library function, print. The only place that knows Rich."""
