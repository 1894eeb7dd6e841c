"""What mechanisms search with: programs that are solved, floors, axes and draws that are chosen. No theorem is here."""
