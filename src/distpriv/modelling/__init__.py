"""From rows to the distribution of the released statistics: f_θ for every scenario, and what is known of it."""
