"""The page Speech: hear a microphone or a recording, see its features and its text appear, and speak a text."""
