package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	inputName    = regexp.MustCompile(`^input:[A-Za-z0-9_.-]{1,100}$`)
)

// inputError means that a person has to enter a value, as in VS Code.
type inputError struct{ name string }

func (e *inputError) Error() string {
	return fmt.Sprintf("inputs are not asked for; use an environment variable instead of ${input:%s}", e.name)
}

// expand replaces the variables in s. Its errors name variables and show nothing else of s.
// With filled, variables must not be empty.
func (d *decoder) expand(s string, filled bool) (string, error) {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			return b.String(), nil
		}
		if escaped, ok := strings.CutSuffix(text, "$"); ok {
			b.WriteString(escaped + "${")
			s = rest
			continue
		}
		b.WriteString(text)
		inside, after, found := strings.Cut(rest, "}")
		if !found {
			return "", errors.New("${ has no closing }; write $${ for a literal ${")
		}
		value, err := d.variable(inside, filled)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = after
	}
}

// variable returns the value for the text between ${ and }.
func (d *decoder) variable(inside string, filled bool) (string, error) {
	if d.preview {
		return "${" + inside + "}", nil
	}
	switch inside {
	case "workspaceFolder":
		return d.workspace(), nil
	case "workspaceFolderBasename":
		return filepath.Base(d.workspace()), nil
	case "pathSeparator", "/":
		return string(os.PathSeparator), nil
	case "userHome":
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if home, ok := os.LookupEnv(name); ok && home != "" {
				return home, nil
			}
		}
		return "", errors.New("${userHome}: neither HOME nor USERPROFILE is set")
	}
	if inputName.MatchString(inside) {
		return d.answer(strings.TrimPrefix(inside, "input:"))
	}
	name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(inside, "env:"), ":-")
	if !variableName.MatchString(name) {
		return "", errors.New("${…} does not hold the name of a variable; write $${ for a literal ${")
	}
	value, ok := os.LookupEnv(name)
	switch {
	case strings.Contains(fallback, "${"): // its } would end the outer variable
		return "", fmt.Errorf("the default of ${%s:-…} has a variable; write text only", name)
	case hasFallback && value == "":
		return fallback, nil
	case !ok:
		return "", fmt.Errorf("environment variable %s is not set; set it, or write ${%s:-text} for a default", name, name)
	case filled && value == "":
		return "", fmt.Errorf("environment variable %s is empty; set it, or write ${%s:-} if it may be empty", name, name)
	}
	return value, nil
}

// workspace returns the project directory of the file.
func (d *decoder) workspace() string {
	dir := filepath.Dir(d.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if base := filepath.Base(dir); base == ".vscode" || base == ".cursor" {
		dir = filepath.Dir(dir)
	}
	return dir
}

// environment returns the variables of a server's process: from its environment file and from the
// file itself, which takes precedence.
func (s *settings) environment() []string {
	env := s.envFile()
	for _, p := range s.pairs("env") {
		if p.name == "" || strings.ContainsAny(p.name, "=\x00") || strings.Contains(p.value, "\x00") {
			s.noteMistake(p.line, p.key, "not a variable that a process can have")
		}
		env = append(env, p.name+"="+p.value)
	}
	return env
}

// envFile parses lines of the form NAME=value. It skips empty lines and lines that begin with #,
// removes a leading "export" and quotes around the value, and expands nothing.
func (s *settings) envFile() (env []string) {
	path := s.string("envFile")
	if path == "" || s.d.preview {
		return nil
	}
	line, key := s.node["envFile"].line, s.key+".envFile"
	data, err := s.d.opts.EnvFile(path)
	if err != nil {
		s.noteMistake(line, key, "%v", err)
	}
	for i, text := range strings.Split(string(data), "\n") {
		text = strings.TrimPrefix(strings.TrimSpace(text), "export ")
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !found || !variableName.MatchString(name) || strings.Contains(value, "\x00") {
			s.note(&fault{place{path, i + 1, ""}, "want NAME=value"})
		}
		env = append(env, name+"="+unquote(strings.TrimSpace(value)))
	}
	return env
}

func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}
