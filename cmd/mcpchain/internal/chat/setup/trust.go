package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/private"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// askTrust returns the content of the project's file if the person allows it, otherwise nil. The
// person is not asked again as long as the file and its environment files do not change, nor for a
// file without servers. A file that is too long to be shown is not used. It is an
// error if there is no person.
func (p *Places) askTrust(ctx context.Context, s screen.Screen, data []byte) (*content, error) {
	c, err := readContent(ctx, p.Project, data)
	if err != nil {
		return nil, err
	}
	servers, err := config.ParsePreview(p.Project, data)
	if err != nil {
		return nil, err
	}
	shown := preview(servers, c)
	if shown == "" {
		return c, nil
	}
	path, err := filepath.Abs(p.Project)
	if err != nil {
		return nil, err
	}
	wasAllowed, same := p.isTrusted(path, c)
	if same {
		return c, nil
	}
	if !s.Attended() {
		return nil, fmt.Errorf("%s names servers that you have not allowed yet, and there is no terminal to ask on: "+
			"give -config %s to use them, or -config none", p.Project, p.Project)
	}
	if utf8.RuneCountInString(shown) > screen.MaxShown || strings.Count(shown, "\n") >= maxLines {
		s.Note(screen.Warn, "The file %s names more than can be shown here. "+
			"Read it, and start with -config %s to use it.", hosttext.Line(path, maxPath), p.Project)
		return nil, nil
	}
	key, err := s.Choose(ctx, trustChoice(path, shown, wasAllowed))
	if err != nil || key == 'n' {
		return nil, err
	}
	if key == 'y' {
		err = p.saveTrust(path, c)
	}
	return c, err
}

// trustChoice returns the question about a file. preview describes the servers that it names.
func trustChoice(path, preview string, wasAllowed bool) *screen.Choice {
	heading := "The file %s belongs to this folder. It names:"
	if wasAllowed {
		heading = "The file %s, or a file that it names, has changed since you allowed it. It names:"
	}
	return &screen.Choice{
		Heading:  fmt.Sprintf(heading, hosttext.Line(path, maxPath)),
		Text:     hosttext.Indent(preview),
		Question: "Use these servers? A program that is started can do whatever you can.",
		Answers: []screen.Answer{
			{Key: 'y', Label: "yes, as long as the file stays as it is"},
			{Key: 'o', Label: "once"},
			{Key: 'n', Label: "no"},
		},
	}
}

// maxLines bounds the lines of the question: a person who sees only a part cannot allow the file.
const maxLines = 100

// trust is a kept decision.
type trust struct {
	File        string `json:"file"`
	Fingerprint string `json:"sha256"`
}

// Bounds and permissions of the file of a decision.
const (
	maxTrust      = 64 << 10 // bytes
	othersMayEdit = 0o022    // bits that the file must not have: its content would not be the person's decision
)

// isTrusted reports whether a file was allowed before, and whether its content is still the same.
func (p *Places) isTrusted(path string, c *content) (wasAllowed, same bool) {
	if p.Trust == "" {
		return false, false
	}
	raw, err := private.ReadFile(p.trustFile(path), maxTrust, othersMayEdit)
	var t trust
	if err != nil || json.Unmarshal(raw, &t) != nil || t.File != path {
		return false, false
	}
	return true, t.Fingerprint == c.fingerprint()
}

// saveTrust keeps the decision to allow the content of a file.
func (p *Places) saveTrust(path string, c *content) error {
	if p.Trust == "" {
		return nil
	}
	if err := os.MkdirAll(p.Trust, 0o700); err != nil {
		return fmt.Errorf("keep the trust in %s: %w", path, err)
	}
	raw, err := json.Marshal(trust{path, c.fingerprint()})
	if err == nil {
		err = private.CheckDir(p.Trust)
	}
	if err == nil {
		err = private.WriteFile(p.trustFile(path), raw)
	}
	if err != nil {
		return fmt.Errorf("keep the trust in %s: %w", path, err)
	}
	return nil
}

// trustFile returns the path of the kept decision on a file.
func (p *Places) trustFile(path string) string {
	return filepath.Join(p.Trust, fingerprint([]byte(path))[:32]+".json")
}

// preview describes the servers of a file without secrets: what is started and called, and with
// which variables.
func preview(servers []config.Server, c *content) string {
	var b strings.Builder
	for i := range servers {
		if s := &servers[i]; !s.Disabled {
			fmt.Fprintf(&b, "%s: %s\n", oneLine(s.Name), describeServer(s))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.envFiles)) {
		fmt.Fprintf(&b, "The environment file %s:\n", oneLine(path))
		for line := range strings.Lines(string(c.envFiles[path])) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				fmt.Fprintf(&b, "  %s\n", oneLine(redactVariable(strings.TrimPrefix(line, "export "))))
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine escapes a text, so that it takes one line. It is not cut.
func oneLine(text string) string { return hosttext.Line(text, maxFile) }

// describeServer describes a server: its command or URL, and on further lines all that changes what
// it does.
func describeServer(s *config.Server) string {
	switch t := s.Transport.(type) {
	case *mcpclient.Command:
		lines := []string{"starts " + oneLine(strings.Join(redactCommand(append([]string{t.Path}, t.Args...)), " "))}
		if t.Dir != "" {
			lines = append(lines, "in the folder "+oneLine(t.Dir))
		}
		for _, v := range t.Env {
			lines = append(lines, "with "+oneLine(redactVariable(v)))
		}
		if s.EnvFile != "" {
			lines = append(lines, "with the variables of the file "+oneLine(s.EnvFile))
		}
		return strings.Join(lines, "\n  ")
	case *mcpclient.HTTP:
		return describeHTTP(t.URL, t.Header)
	}
	return "cannot be shown: " + oneLine(fmt.Sprint(s.Err))
}

// describeHTTP describes a server over HTTP.
func describeHTTP(url string, header http.Header) string {
	lines := []string{"calls " + oneLine(redactURL(url))}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines = append(lines, "with the header "+oneLine(name+": "+redact(value)))
		}
	}
	return strings.Join(lines, "\n  ")
}

var (
	// reference matches a variable or an input in a text.
	reference = regexp.MustCompile(`\$\{[^}]*\}`)

	// secretName matches the names of values that may be secrets.
	secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|pwd|credential|auth|cookie|bearer|session|sig)`)

	// scheme matches the beginning of the value of a header Authorization.
	scheme = regexp.MustCompile(`(?i)^(basic|bearer|token) `)

	// command matches a value that a program may run: a path, or what has blanks or the characters of shells.
	command = regexp.MustCompile("^(\\.{0,2}|~)/|[\\s!|;&<>`$()]")

	// pair matches a word with a name and a value: an option, a variable or a header.
	pair = regexp.MustCompile(`^([^=:\s]+(?:=|: +)|[\w-]+:)(.*)$`)
)

// redactValue redacts a value that may be a secret, unless it may be a command instead: a program may run what an option or a
// variable with a name like that has, such as credential.helper of git.
func redactValue(value string) string {
	if command.MatchString(reference.ReplaceAllLiteralString(scheme.ReplaceAllLiteralString(value, ""), "")) {
		return value
	}
	return redact(value)
}

// redact replaces all of a text but its references: they say which values leave the machine.
func redact(text string) string {
	var b strings.Builder
	at := 0
	for _, ref := range reference.FindAllStringIndex(text, -1) {
		if ref[0] > at {
			b.WriteString("…")
		}
		b.WriteString(text[ref[0]:ref[1]])
		at = ref[1]
	}
	if at < len(text) {
		b.WriteString("…")
	}
	return b.String()
}

// redactVariable redacts the value in NAME=value if it may be a secret.
func redactVariable(text string) string {
	name, value, _ := strings.Cut(text, "=")
	if secretName.MatchString(name) {
		value = redactValue(value)
	}
	return name + "=" + value
}

// redactCommand returns the words of a command, quoted where needed, without values that may be
// secrets.
func redactCommand(all []string) (shown []string) {
	secret := false // the word is the value of a secret option
	for _, w := range all {
		isValue := secret && !strings.HasPrefix(w, "-")
		secret = strings.HasPrefix(w, "-") && secretName.MatchString(w) && !pair.MatchString(w)
		switch redacted := redactPair(w); {
		case isValue:
			w = redactValue(w)
		case redacted != w:
			w = redacted
		case strings.Contains(w, "://"):
			w = redactURL(w)
		}
		if w == "" || strings.ContainsAny(w, " \t\n\"'") {
			w = fmt.Sprintf("%q", w)
		}
		shown = append(shown, w)
	}
	return shown
}

// redactPair redacts the value of a pair if it may be a secret. The value of an option may be a pair, too, such as a header.
func redactPair(word string) string {
	m := pair.FindStringSubmatch(word)
	switch {
	case m == nil:
		return word
	case secretName.MatchString(m[1]):
		return m[1] + redactValue(m[2])
	case strings.HasPrefix(word, "-"):
		return m[1] + redactPair(m[2])
	}
	return word
}

// redactURL returns a URL without its user, its fragment and the values of its query.
func redactURL(url string) string {
	url, fragment, _ := strings.Cut(url, "#")
	url, query, asks := strings.Cut(url, "?")
	if scheme, rest, found := strings.Cut(url, "://"); found {
		host, path, slash := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = redact(host[:at]) + host[at:]
		}
		if url = scheme + "://" + host; slash {
			url += "/" + path
		}
	}
	if asks {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, value, found := strings.Cut(pair, "="); found {
				pairs[i] = name + "=" + redact(value)
			} else {
				pairs[i] = redact(pair)
			}
		}
		url += "?" + strings.Join(pairs, "&")
	}
	if fragment != "" {
		url += "#" + redact(fragment)
	}
	return url
}
