package redact

import (
	"errors"
	"strings"
)

// CheckToken refuses a string that no header can have as a token. The error does not show it.
func CheckToken(token string) error {
	if scheme, _, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return errors.New("token: want it without the word Bearer before it")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("token: a space, a line break and a character beyond ASCII are not allowed in it")
	}
	return nil
}
