"""What the screens share: session state, the frame around every screen, badges, figures."""
