"""What `wgmma` reads through its descriptors: questions that a GPU and the virtual GPU answer alike."""
