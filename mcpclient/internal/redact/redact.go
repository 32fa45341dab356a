// Package redact removes secrets from the texts of errors and logs.
package redact

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// URL returns a URL without the parts that may be secret: user info, query, fragment.
func URL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// RawURL is like URL, for text that may lack a scheme or not be a URL.
func RawURL(raw string) string {
	if u, err := url.Parse("//" + raw); err == nil && u.Host != "" && !strings.Contains(raw, "://") {
		return strings.TrimPrefix(URL(u), "//")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return URL(u)
}

// Min is the length in bytes of the shortest secret that is removed. Removing shorter ones would
// hide nothing and garble the text.
const Min = 6

// Max bounds the text, in bytes, that is searched for secrets. Texts are searched before they are
// cut, because a cut secret would not be found.
const Max = 64 << 10

// Error returns an error with the text, which wraps err.
func Error(text string, err error) error { return &redactedError{text, err} }

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// Secrets has what a connection must keep secret: secrets in its URL and its header, its last tokens, and the ids of its
// former sessions. No error may show them, although a server may repeat them.
type Secrets struct {
	fixed []string

	mu     sync.Mutex
	tokens []string // the last used ones; an answer may still contain each of them
	all    []string // tokens and fixed, the longest first; nil if it is out of date
}

const maxTokens = 256

// Of returns the secrets of requests to a URL with a header.
func Of(u *url.URL, header http.Header) *Secrets {
	return &Secrets{fixed: requestSecrets(u, header)}
}

// Add adds a token that is about to be used, or the id of a session. Beyond maxTokens the least recently added is forgotten.
func (s *Secrets) Add(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.tokens)
	if len(token) < Min || n > 0 && s.tokens[n-1] == token {
		return
	}
	s.tokens = slices.DeleteFunc(s.tokens, func(t string) bool { return t == token })
	if s.tokens = append(s.tokens, token); len(s.tokens) > maxTokens {
		s.tokens = slices.Delete(s.tokens, 0, 1)
	}
	s.all = nil
}

// Redact replaces the secrets in text.
func (s *Secrets) Redact(text string) string {
	if len(text) < Min {
		return text
	}
	for _, secret := range s.list() {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

func (s *Secrets) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = longestFirst(slices.Concat(s.tokens, s.fixed))
	}
	return s.all
}

// longestFirst sorts secrets, as one may be part of another.
func longestFirst(secrets []string) []string {
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(secrets)
}

// requestSecrets lists the secrets of a URL and a header, the longest first.
func requestSecrets(u *url.URL, header http.Header) []string {
	if u.RawQuery == "" && u.User == nil && len(header) == 0 {
		return nil
	}
	name, password := u.User.Username(), ""
	secrets := []string{u.RawQuery, name} // some hosts take a token as the name
	if u.User != nil {
		password, _ = u.User.Password()
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(name+":"+password)), password)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	for _, values := range header {
		for _, v := range values {
			_, credentials, _ := strings.Cut(v, " ") // behind the scheme of an Authorization
			secrets = append(secrets, v, credentials)
		}
	}
	for _, s := range slices.Clone(secrets) { // as JSON has them
		quoted := jsonrpc.AppendString(nil, s)
		secrets = append(secrets, string(quoted[1:len(quoted)-1]))
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < Min })
	return longestFirst(secrets)
}

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
