"""Where rows live: one thin Protocol, one file per engine, and the SELECTs they run."""
