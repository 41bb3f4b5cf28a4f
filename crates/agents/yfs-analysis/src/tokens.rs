//! An estimate of the tokens of a text, without a tokenizer: they differ between models.

/// The characters of a token, on average of English text and code.
const CHARS_PER_TOKEN: usize = 4;

/// Returns the estimated number of tokens of a text: a quarter of its characters, rounded up.
pub fn estimate_tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARS_PER_TOKEN)
}

/// Returns the number of characters that a number of tokens allows.
pub fn token_budget_chars(n_tokens: usize) -> usize {
    n_tokens.saturating_mul(CHARS_PER_TOKEN)
}
