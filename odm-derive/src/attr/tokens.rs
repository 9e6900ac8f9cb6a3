//! Token runs inside attributes.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::Token;
use syn::parse::ParseStream;

/// The tokens up to the next comma, which is left. Commas between `::<` and `>` do not count.
pub(super) fn until_comma(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    let mut angles = 0_usize;
    let mut before = ' ';
    while !input.is_empty() && (angles > 0 || !input.peek(Token![,])) {
        let token: TokenTree = input.parse()?;
        let mut now = ' ';
        if let TokenTree::Punct(punct) = &token {
            now = punct.as_char();
            match now {
                '<' if before == ':' || angles > 0 => angles += 1,
                '>' if angles > 0 && !(before == '-' && punct.spacing() == Spacing::Alone) => angles -= 1,
                _ => {}
            }
        }
        before = now;
        tokens.extend([token]);
    }
    Ok(tokens)
}
