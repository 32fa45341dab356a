package oauth

import (
	"net/http"
	"regexp"
	"strings"
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

// The parts of a field: a scheme, the single argument (token68) of schemes such as Negotiate, and a
// parameter, whose value is a quoted string or a token.
const (
	tokenChars = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	quotedText = `"((?s:[^"\\]|\\.)*)"`
)

var (
	schemePart  = regexp.MustCompile(`^[, \t]*(` + tokenChars + `)([ \t]+|,|$)`)
	token68Part = regexp.MustCompile(`^[-._~+/0-9A-Za-z]+=*[ \t]*(?:,|$)`)
	paramPart   = regexp.MustCompile(`^[, \t]*(` + tokenChars + `)[ \t]*=[ \t]*(?:` + quotedText + `|(` + tokenChars + `))`)
	escapedChar = regexp.MustCompile(`(?s)\\(.)`)
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
		for len(found) < maxChallenges {
			scheme := schemePart.FindStringSubmatch(field)
			if scheme == nil {
				break
			}
			if field = field[len(scheme[0]):]; strings.HasPrefix(field, "=") {
				break // a parameter without a proper value
			}
			c := challenge{scheme: strings.ToLower(scheme[1]), params: map[string]string{}}
			if scheme[2] != "," {
				field = c.readParams(field)
			}
			found = append(found, c)
		}
	}
	return found
}

// readParams reads what follows a scheme, and returns the rest of the field.
func (c *challenge) readParams(field string) (rest string) {
	field = field[len(token68Part.FindString(field)):]
	for {
		param := paramPart.FindStringSubmatch(field)
		if param == nil {
			return field
		}
		field = field[len(param[0]):]
		name, value := strings.ToLower(param[1]), param[3]+escapedChar.ReplaceAllString(param[2], "$1")
		if _, twice := c.params[name]; !twice && len(c.params) < maxChallengeParams {
			c.params[name] = value
		}
	}
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
	d := &demand{
		scheme: c.scheme, code: c.params["error"], metadata: c.params["resource_metadata"],
		scopes: splitScopes(c.params["scope"]),
	}
	for _, other := range all { // one challenge may have the metadata, another the scopes
		if d.metadata == "" && (other.scheme == "bearer" || other.scheme == "dpop") {
			d.metadata = other.params["resource_metadata"]
		}
	}
	return d, true
}
