"""Programs that write pages of docs/ out of what the product measures; no user needs them."""
