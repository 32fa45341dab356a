package mcpclient

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redactURL is a URL without what may be secret: user info, query, fragment.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// secretsOf lists what a server may echo and no error may show.
func secretsOf(u *url.URL, header http.Header) []string {
	password, _ := u.User.Password()
	secrets := []string{u.RawQuery, password}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	for _, values := range header {
		for _, v := range values {
			_, credentials, _ := strings.Cut(v, " ") // behind the scheme of an Authorization
			secrets = append(secrets, v, credentials)
		}
	}
	const long = 6 // what is shorter hides nothing, and would spoil the text
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < long })
}

// scrub takes what is secret out of text that the server sent.
func (c *httpConn) scrub(text string) string {
	if id := c.sessionID(); id != "" {
		text = strings.ReplaceAll(text, id, "[session]")
	}
	text = c.bearer.scrub(text)
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}
