"""Replay of recordings of a rig, which takes the messages of its nodes."""
