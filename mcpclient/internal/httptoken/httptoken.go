// Package httptoken knows the tokens of HTTP (RFC 9110, 5.6.2), such as the names of headers.
package httptoken

import "strings"

// Valid reports whether a text is a token.
func Valid(s string) bool {
	const delimiters = `"(),/:;<=>?@[\]{}`
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(delimiters, r) })
}
