"""A real small coder model behind both SDKs: opt-in, since it downloads half a gigabyte."""
