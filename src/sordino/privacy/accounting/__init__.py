"""What many releases cost together: over rounds, by sampling of users, by shuffling."""
