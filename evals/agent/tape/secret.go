package tape

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Mark replaces secrets.
const Mark = "[secret]"

// Least is the shortest known secret to remove: a shorter one, such as the key "test" of a
// server that needs none, may be an ordinary word.
const Least = 8

// Filter removes secrets from text: known ones, and what looks like a key or token.
type Filter struct{ known []string }

// NewFilter returns a filter with known secrets.
func NewFilter(known ...string) *Filter {
	f := &Filter{}
	for _, s := range known {
		if len(s) >= Least {
			f.known = append(f.known, s)
		}
	}
	return f
}

// A key begins with its provider's prefix. No letter or digit precedes it, but an escape may,
// since text may itself be JSON.
var (
	keys = regexp.MustCompile(`(\\[nrtbf]|\\u[0-9A-Fa-f]{4}|\b)(?:` +
		`(?:sk|pk|rk|ghp|gho|ghs|ghu|ghr|github_pat|gsk|hf|xai|glpat|xox[abp]|AKIA|AIza|ya29)[-_A-Za-z0-9.]{12,}|` +
		`eyJ[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]*)`)
	bearers   = regexp.MustCompile(`((?i:bearer)\s+)([-._~+/A-Za-z0-9]{8,}=*)`)
	basics    = regexp.MustCompile(`((?i:basic)\s+)([A-Za-z0-9+/]{8,}=*)`)
	passwords = regexp.MustCompile(`([A-Za-z][-+.A-Za-z0-9]*://[^\s/:@"]*:)[^\s/@"]+@`)
)

// Text returns text without secrets.
func (f *Filter) Text(text string) string {
	for _, s := range f.known {
		text = strings.ReplaceAll(text, s, Mark)
	}
	text = keys.ReplaceAllString(text, "${1}"+Mark)
	text = replaceSecret(bearers, text, isToken)
	text = replaceSecret(basics, text, isBasic)
	return passwords.ReplaceAllString(text, "${1}"+Mark+"@")
}

// replaceSecret replaces the second group of a pattern if it is a secret.
func replaceSecret(pattern *regexp.Regexp, text string, is func(string) bool) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		m := pattern.FindStringSubmatch(found)
		if !is(m[2]) {
			return found
		}
		return m[1] + Mark
	})
}

// isToken distinguishes a token from the next word of a sentence.
func isToken(s string) bool { return len(s) >= 24 || strings.ContainsAny(s, "0123456789") }

// isBasic reports whether text is the user name and password of HTTP's Basic authentication.
func isBasic(s string) bool {
	plain, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		plain, err = base64.RawStdEncoding.DecodeString(s)
	}
	return err == nil && strings.Contains(string(plain), ":")
}

// JSON returns JSON without secrets in strings and names of members.
func (f *Filter) JSON(data []byte) []byte { return jsonrpc.MapTexts(data, f.Text) }
