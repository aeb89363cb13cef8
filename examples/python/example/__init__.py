"""Shows how a Python backend uses Authwire. See README.md."""
