package lc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/lc/internal/convert"
)

// form is what a dialect stands for.
type form struct {
	rules    convert.Rules
	profile  profile.Profile
	provider string // in the words of OpenTelemetry's conventions
}

var forms = map[string]form{
	"openai":    {convert.OpenAI, profile.OpenAI, "openai"},
	"anthropic": {convert.Anthropic, profile.Anthropic, "anthropic"},
	"bedrock":   {convert.Bedrock, profile.OpenAI, "aws.bedrock"},
	"google":    {convert.Google, profile.GoogleAI, "gcp.gemini"},
	"mistral":   {convert.Mistral, profile.OpenAI, "mistral_ai"},
}

// packages are the dialects of langchaingo's packages that are not openai.
var packages = map[string]string{
	"anthropic": "anthropic", "bedrock": "bedrock", "googleai": "google", "googleai/vertex": "google", "mistral": "mistral",
}

// formOf is what a dialect stands for; without one, what the package of the model's type does. It panics if there is no
// such dialect.
func formOf(d string, m llms.Model) form {
	path := langchaingo(m)
	named := d
	if d == "" {
		if d = packages[path]; d == "" {
			d = "openai"
		}
	}
	f, ok := forms[d]
	if !ok {
		panic(fmt.Sprintf("lc: dialect %q is unknown; ModelOptions.Dialect names those that there are", d))
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
