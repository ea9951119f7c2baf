"""The miniature serving pieces that exercises plug into: argument checks, a device, a decode engine.
May import the rest of common."""
