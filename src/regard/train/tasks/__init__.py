"""The kinds of training: images, language, classes of texts, masked language, and completion of images."""
