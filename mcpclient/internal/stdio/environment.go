package stdio

import (
	"runtime"
	"slices"
	"strings"
)

// harmless are the variables that every server gets: none of them is meant for secrets.
var harmless = [...]string{
	"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TMPDIR", "TZ", "USER",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
}

// harmlessWindows are the same on Windows, where names have no case.
var harmlessWindows = [...]string{
	"ALLUSERSPROFILE", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
	"USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

func (t *Command) environment(own []string) []string {
	out := make([]string, 0, len(own)+len(t.Env)) // nil would mean all
	for _, entry := range own {
		name, value, _ := strings.Cut(entry, "=")
		if isHarmless(runtime.GOOS, name, value) {
			out = append(out, entry)
		}
	}
	return append(out, t.Env...)
}

func isHarmless(system, name, value string) bool {
	if strings.HasPrefix(value, "()") {
		return false // a function that some shells would run
	}
	if system == "windows" {
		return slices.Contains(harmlessWindows[:], strings.ToUpper(name))
	}
	return slices.Contains(harmless[:], name) || strings.HasPrefix(name, "LC_")
}

// isMalformedEntry reports whether an entry is not KEY=value. A name may begin with "=": Windows
// keeps the directory of each drive in such variables.
func isMalformedEntry(entry string) bool {
	return entry == "" || !strings.Contains(entry[1:], "=")
}
