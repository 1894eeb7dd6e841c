"""How far mass must move between two weighted point sets: W∞ and (W, δ)-closeness."""
