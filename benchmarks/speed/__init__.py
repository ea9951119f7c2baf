"""How fast the virtual GPU itself runs."""
