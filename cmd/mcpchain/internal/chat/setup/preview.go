package setup

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// preview describes the servers of a file without secrets: what is started and called, and with which variables.
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

// describeServer describes a server: its command or URL, and on further lines all that changes what it does.
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

// redactValue redacts a value whose name matches secretName, unless the value may be a command, which the person has to see:
// git runs the value of its option credential.helper.
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

// redactCommand returns the words of a command, quoted where needed, without values that may be secrets.
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
