"""What fills the generated pages of the site."""
