"""What a curator does: write a policy, see the options, release once, keep the evidence."""
