package lc

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
)

// form is what a dialect means.
type form struct {
	rules    convert.Rules
	profile  profile.Profile
	provider string // by OpenTelemetry's conventions
}

var forms = map[string]form{
	"openai":        {convert.Rules{}, profile.OpenAI, "openai"},
	"openai-strict": {convert.Rules{}, profile.OpenAIStrict, "openai"},
	"gemini":        {convert.Rules{}, profile.Gemini, "gcp.gemini"},
	"llamacpp":      {convert.Rules{}, profile.LlamaCpp, "llamacpp"},
	// Anthropic's provider ignores the tool choice, and the API requires the tools as long as the history has calls. So
	// its models are told in words when they have to answer without tools.
	"anthropic": {convert.Rules{SingleParts: true, NoBlankText: true}, profile.Anthropic, "anthropic"},
	"bedrock":   {convert.Rules{SingleParts: true, NoBlankText: true}, profile.OpenAI, "aws.bedrock"},
	"google":    {convert.Rules{MergedResults: true, SchemaMaps: true}, profile.GoogleAI, "gcp.gemini"},
	"mistral":   {convert.Rules{ResultsLast: true, NoToolsAtEnd: true}, profile.OpenAI, "mistral_ai"},
}

// packages has the dialects of langchaingo's packages that are not openai.
var packages = map[string]string{
	"anthropic": "anthropic", "bedrock": "bedrock", "googleai": "google", "googleai/vertex": "google", "mistral": "mistral",
}

// providers has OpenTelemetry's names of providers that neither a form nor their package has.
var providers = map[string]string{"googleai/vertex": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai"}

// formOf returns the form of a dialect, by default the form of the package of the model's type. It
// panics if the dialect is unknown.
func formOf(d string, m llms.Model) form {
	path := packageOf(m)
	f, ok := forms[cmp.Or(d, packages[path], "openai")]
	switch {
	case !ok:
		panic(fmt.Sprintf("lc: unknown dialect %q; see ModelOptions.Dialect", d))
	case path == "" && d == "":
		f.provider = "unknown"
	case path != "":
		name, _, _ := strings.Cut(path, "/")
		f.provider = cmp.Or(providers[path], forms[packages[path]].provider, name)
	}
	return f
}

// packageOf returns the package of a model of langchaingo, below llms, and "" for another model.
func packageOf(m llms.Model) string {
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
