"""Competitions: submissions with receipts, scores on a public and a private part, the leaderboard. Knows no web pages."""
