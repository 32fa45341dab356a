package lc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/lc/internal/convert"
)

// Dialect is the form of messages that a provider of langchaingo needs.
type Dialect string

// The dialects. A provider of another form takes DialectOpenAI as a rule.
const (
	DialectOpenAI    Dialect = "openai"
	DialectAnthropic Dialect = "anthropic" // one part in a message of the model, no blank text, marks of caches
	DialectBedrock   Dialect = "bedrock"   // as DialectAnthropic, without marks
	DialectGoogle    Dialect = "google"    // the results of a turn in one message, schemas as maps
	DialectMistral   Dialect = "mistral"   // no message of a person after results, no tools for a last answer
)

// form is what a dialect stands for.
type form struct {
	rules    convert.Rules
	profile  adapter.Profile
	provider string // in the words of OpenTelemetry's conventions
}

var forms = map[Dialect]form{
	DialectOpenAI:    {convert.OpenAI, adapter.ProfileOpenAI, "openai"},
	DialectAnthropic: {convert.Anthropic, adapter.ProfileAnthropic, "anthropic"},
	DialectBedrock:   {convert.Bedrock, adapter.ProfileOpenAI, "aws.bedrock"},
	DialectGoogle:    {convert.Google, adapter.ProfileGoogleAI, "gcp.gemini"},
	DialectMistral:   {convert.Mistral, adapter.ProfileOpenAI, "mistral_ai"},
}

// packages are the dialects of langchaingo's packages that are not [DialectOpenAI].
var packages = map[string]Dialect{
	"anthropic": DialectAnthropic, "bedrock": DialectBedrock, "googleai": DialectGoogle, "googleai/vertex": DialectGoogle, "mistral": DialectMistral,
}

// formOf is what a dialect stands for; without one, what the package of the model's type does. It panics if there is no
// such dialect.
func formOf(d Dialect, m llms.Model) form {
	path := langchaingo(m)
	named := d
	if d == "" {
		if d = packages[path]; d == "" {
			d = DialectOpenAI
		}
	}
	f, ok := forms[d]
	if !ok {
		panic(fmt.Sprintf("lc: dialect %q is unknown; use one of the constants", d))
	}
	switch {
	case path == "" && named == "":
		f.provider = "unknown"
	case path == "":
	case path == "googleai/vertex":
		f.provider = "gcp.vertex_ai"
	case path == "watsonx":
		f.provider = "ibm.watsonx.ai"
	case packages[path] != "":
		f.provider = forms[packages[path]].provider
	default:
		f.provider, _, _ = strings.Cut(path, "/")
	}
	return f
}

// langchaingo is the package of a model of langchaingo below its folder of models, "" for another model.
func langchaingo(m llms.Model) string {
	t := reflect.TypeOf(m)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path, found := strings.CutPrefix(t.PkgPath(), "github.com/tmc/langchaingo/llms/")
	if !found {
		return ""
	}
	return path
}
