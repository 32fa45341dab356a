package chat

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// maxQuoted bounds a host's text inside an error.
const maxQuoted = excerpt.Max

var (
	urlText = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`)

	// secretHeader matches the names of headers with secrets, also those of gateways.
	secretHeader = regexp.MustCompile(`(?i)key|auth|token|secret|password|cookie|openai-organization`)

	// keyText matches an API key in the form of a known host, even if the host has masked a part of it.
	keyText = regexp.MustCompile(`(?i)\bbearer\s+[^\s"'<>]+` +
		`|\b(?:sk|pk|rk|gsk|xai)[-_][A-Za-z0-9_*.-]{6,}` +
		`|\bAIza[A-Za-z0-9_*-]{10,}`)
)

// redactor removes secrets from text before it becomes part of an error.
type redactor struct {
	secrets []*regexp.Regexp // the longest first, as one may be a part of another
}

// newRedactor returns a redactor for the secrets of one request.
func newRedactor(req *http.Request) *redactor {
	var secrets []string
	for name, values := range req.Header {
		if !secretHeader.MatchString(name) {
			continue
		}
		for _, value := range values {
			_, token, _ := strings.Cut(value, " ")
			secrets = append(secrets, value, token)
		}
	}
	for name, values := range req.URL.Query() {
		if name != "api-version" { // Azure's version, which people have to see
			secrets = append(secrets, values...)
		}
	}
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		secrets = append(secrets, password, user.Username())
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r := &redactor{}
	for _, secret := range slices.Compact(secrets) {
		if len(secret) >= minSecret {
			r.secrets = append(r.secrets, disguises(secret))
		}
	}
	return r
}

// minSecret is the length of the shortest secret, in bytes. Shorter texts would be found in ordinary words.
const minSecret = 6

// disguises returns a pattern for a secret in the forms in which a host may repeat it: in either case, percent-encoded
// or escaped as in JSON, and in base64, also as a part of a longer text.
func disguises(secret string) *regexp.Regexp {
	var p strings.Builder
	p.WriteString("(?i:")
	for _, c := range secret {
		if c == utf8.RuneError {
			p.WriteString("(?s:.)")
			continue
		}
		percent := strings.ReplaceAll(fmt.Sprintf("% x", string(c)), " ", "%")
		fmt.Fprintf(&p, `(?:%s|%%%s|`, regexp.QuoteMeta(string(c)), percent)
		for _, unit := range utf16.Encode([]rune{c}) { // JSON
			fmt.Fprintf(&p, `\\u%04x`, unit)
		}
		switch c {
		case ' ':
			p.WriteString(`|\+`) // a query
		case '/', '"', '\\':
			p.WriteString(`|\\` + regexp.QuoteMeta(string(c))) // JSON
		}
		p.WriteByte(')')
	}
	p.WriteString(")")
	for before := range 3 { // bytes of other text in the first base64 group
		code := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		code = regexp.QuoteMeta(code[(before*8+5)/6 : (before+len(secret))*8/6]) // the characters that only depend on the secret
		p.WriteString("|[A-Za-z0-9+/_-]?" + strings.NewReplacer(`\+`, "[+-]", "/", "[/_]").Replace(code) + "[A-Za-z0-9+/_-]?=*")
	}
	return regexp.MustCompile(p.String())
}

// clean returns the text without secrets, cut to 1 KiB.
func (r *redactor) clean(text string) string {
	text = text[:min(len(text), maxErrorBody)]
	text = urlText.ReplaceAllStringFunc(text, func(s string) string {
		u, err := url.Parse(s)
		if err != nil {
			return "[url]"
		}
		return bareURL(u)
	})
	for _, secret := range r.secrets {
		text = secret.ReplaceAllLiteralString(text, "[redacted]")
	}
	text = keyText.ReplaceAllString(text, "[redacted]")
	return excerpt.Cut(strings.ToValidUTF8(strings.TrimSpace(text), "�"))
}

// withoutURL returns the cause of an HTTP client's *url.Error, whose text would quote the URL.
func withoutURL(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

// bareURL returns a URL without user info, query and fragment.
func bareURL(u *url.URL) string {
	bare := *u
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment, bare.RawFragment = nil, "", false, "", ""
	return bare.String()
}
