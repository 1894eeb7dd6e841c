"""Results as one self-contained page, with their figures. A report only reads results and never recomputes."""
