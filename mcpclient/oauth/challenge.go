package oauth

import (
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/internal/httptoken"
)

// challenge is a challenge of a WWW-Authenticate header (RFC 9110 §11.6.1).
type challenge struct {
	scheme string            // lower case
	params map[string]string // names in lower case; the first value of a repeated name
}

const (
	maxChallengeHeader = 16 << 10 // bytes of all fields
	maxChallenges      = 16
	maxChallengeParams = 32 // bounds the parameters of one challenge
)

// parseChallenges reads the WWW-Authenticate fields of a response. A field may hold several
// challenges. Everything after a malformed part, or beyond the bounds, is left out.
func parseChallenges(fields []string) []challenge {
	var found []challenge
	size := 0
	for _, field := range fields {
		if size += len(field); size > maxChallengeHeader {
			break
		}
		p := challengeParser{rest: field}
		for len(found) < maxChallenges && p.next() {
			found = append(found, p.challenge)
		}
	}
	return found
}

type challengeParser struct {
	rest      string
	challenge challenge
}

// next reads one challenge: a scheme, then a token68 or parameters. It returns false if there is no
// further challenge.
func (p *challengeParser) next() bool {
	p.skip(", \t")
	scheme := p.token()
	if scheme == "" {
		return false
	}
	p.challenge = challenge{scheme: strings.ToLower(scheme), params: map[string]string{}}
	switch {
	case p.rest == "" || p.rest[0] == ',':
		return true
	case p.rest[0] != ' ' && p.rest[0] != '\t':
		return false
	}
	p.token68()
	for p.param() {
	}
	return true
}

// token68 skips the single argument of schemes such as Negotiate, if that is next.
func (p *challengeParser) token68() {
	text := strings.TrimLeft(p.rest, " \t")
	end := strings.IndexAny(text, ", \t")
	if end < 0 {
		end = len(text)
	}
	word := strings.TrimRight(text[:end], "=")
	isOther := func(r rune) bool { return !httptoken.Char(r) && r != '/' }
	rest := strings.TrimLeft(text[end:], " \t")
	if word != "" && !strings.ContainsFunc(word, isOther) && (rest == "" || rest[0] == ',') {
		p.rest = rest
	}
}

// param reads a parameter. It returns false if the next part is another challenge, whose first word
// has no "=" after it. A comma separates parameters and challenges. A malformed value ends the field.
func (p *challengeParser) param() bool {
	before := p.rest
	p.skip(", \t")
	name := strings.ToLower(p.token())
	p.skip(" \t")
	if name == "" || !strings.HasPrefix(p.rest, "=") {
		p.rest = before
		return false
	}
	p.rest = p.rest[1:]
	p.skip(" \t")
	value, ok := p.value()
	if !ok {
		p.rest = ""
		return false
	}
	if _, twice := p.challenge.params[name]; !twice && len(p.challenge.params) < maxChallengeParams {
		p.challenge.params[name] = value
	}
	return true
}

func (p *challengeParser) skip(chars string) { p.rest = strings.TrimLeft(p.rest, chars) }

func (p *challengeParser) token() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !httptoken.Char(r) })
	if end < 0 {
		end = len(p.rest)
	}
	t := p.rest[:end]
	p.rest = p.rest[end:]
	return t
}

// value reads a token or a quoted string. It returns false for anything else.
func (p *challengeParser) value() (string, bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		t := p.token()
		return t, t != ""
	}
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String(), true
		case '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
			b.WriteByte(p.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// demand is a server's demand for a token, as its refusal describes it.
type demand struct {
	scheme   string // bearer, dpop; empty without a challenge
	code     string // such as invalid_token
	metadata string // URL of the protected resource metadata
	scopes   []string
}

// parseDemand finds the challenge for us: of the scheme Bearer or DPoP, preferably DPoP if dpop is
// set, and then one with the URL of the metadata. Without any challenge the demand is empty. It
// returns false if the server wants only other kinds of authentication.
func parseDemand(header http.Header, dpop bool) (*demand, bool) {
	all := parseChallenges(header["Www-Authenticate"])
	best, score := -1, -1
	for i, c := range all {
		if c.scheme != "bearer" && c.scheme != "dpop" {
			continue
		}
		points := 0
		if (c.scheme == "dpop") == dpop {
			points += 2
		}
		if c.params["resource_metadata"] != "" {
			points++
		}
		if points > score {
			best, score = i, points
		}
	}
	if best < 0 {
		return &demand{}, len(all) == 0
	}
	c := all[best]
	d := &demand{scheme: c.scheme, code: c.params["error"], metadata: c.params["resource_metadata"], scopes: splitScopes(c.params["scope"])}
	for _, other := range all { // one challenge may have the metadata, another the scopes
		if d.metadata == "" && (other.scheme == "bearer" || other.scheme == "dpop") {
			d.metadata = other.params["resource_metadata"]
		}
	}
	return d, true
}
