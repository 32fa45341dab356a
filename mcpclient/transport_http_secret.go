package mcpclient

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// redactURL is a URL without what may be secret: user info, query, fragment.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return shownURL(u)
}

func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// redactWithout is redactURL for what may lack its scheme.
func redactWithout(raw string) string {
	if u, err := url.Parse("//" + raw); err == nil && u.Host != "" && !strings.Contains(raw, "://") {
		return strings.TrimPrefix(shownURL(u), "//")
	}
	return redactURL(raw)
}

// minSecret is the length in bytes of the shortest secret that is taken out of
// texts: what is shorter hides nothing, and would spoil them.
const minSecret = 6

// secretsOf lists what a server may echo and no error may show.
func secretsOf(u *url.URL, header http.Header) []string {
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
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // one may be part of another
	return slices.Compact(secrets)
}

// scrub takes what is secret on this connection out of text that the server sent.
func (l *link) scrub(text string) string {
	if conn, ok := transport.As[transport.Redactor](l.conn); ok {
		return conn.Redact(text)
	}
	return text
}

// scrubJSON is JSON without what scrub takes out of its names, strings and
// numbers, however they are escaped.
func scrubJSON(raw json.RawMessage, scrub func(string) string) json.RawMessage {
	var out []byte // nil while nothing had to go
	kept := 0      // raw[:kept] is in out
	for i := 0; i < len(raw); {
		end := i + scalar(raw[i:])
		var text any
		if end-i >= minSecret && json.Unmarshal(raw[i:end], &text) == nil {
			s, ok := text.(string)
			if !ok {
				s = string(raw[i:end])
			}
			if clean := scrub(s); clean != s {
				out = jsonrpc.AppendString(append(out, raw[kept:i]...), clean)
				kept = end
			}
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[kept:]...)
}

// scalar is the length of the string, number or literal that valid JSON begins
// with, 1 for anything else.
func scalar(raw []byte) int {
	if raw[0] != '"' {
		if n := bytes.IndexAny(raw, "{}[]:,\" \t\r\n"); n >= 0 {
			return max(n, 1)
		}
		return len(raw)
	}
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// maxScrubbed bounds the text that is looked through for secrets before it is
// cut to what is shown: none is cut into a part that would not be found.
const maxScrubbed = 64 << 10

// cut limits text of the server to 1 KiB without secrets.
func (l *link) cut(text string) string {
	return excerpt.Cut(l.scrub(text[:min(len(text), maxScrubbed)]))
}

// quote shows bytes of the server without secrets.
func (l *link) quote(b []byte) string {
	return excerpt.Quote([]byte(l.cut(string(b[:min(len(b), maxScrubbed)]))))
}

// quote is that of the connection.
func (c *Client) quote(b []byte) string { return c.link.Load().quote(b) }

// quoteJSON is quote for a JSON value: a string is shown as what it says.
func (c *Client) quoteJSON(raw []byte) string {
	if text, ok := jsonrpc.String(raw); ok {
		raw = []byte(text)
	}
	return c.quote(raw)
}

// scrubbed is err with a text that has no secrets.
func (c *Client) scrubbed(err error) error {
	l := c.link.Load()
	if err == nil || l == nil {
		return err
	}
	if text := l.scrub(err.Error()); text != err.Error() {
		return &scrubbedError{text, err}
	}
	return err
}

type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }
func (e *scrubbedError) Unwrap() error { return e.err }

// recentSecrets are the last tokens that were sent: each may still be in an answer.
type recentSecrets struct {
	mu  sync.Mutex
	all []string
}

const maxRecentSecrets = 8

func (r *recentSecrets) add(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(secret) < minSecret || slices.Contains(r.all, secret) {
		return
	}
	if r.all = append(r.all, secret); len(r.all) > maxRecentSecrets {
		r.all = slices.Delete(r.all, 0, 1)
	}
}

func (r *recentSecrets) scrub(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range r.all {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// Redact implements [transport.Redactor] for both halves of the connection.
func (c *sseConn) Redact(text string) string {
	text = c.stream.Redact(text)
	if c.posts != nil {
		text = c.posts.Redact(text)
	}
	return text
}

// Redact implements [transport.Redactor].
func (c *httpConn) Redact(text string) string {
	if id := c.sessionID(); len(id) >= minSecret {
		text = strings.ReplaceAll(text, id, "[session]")
	}
	text = c.sent.scrub(text)
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}
