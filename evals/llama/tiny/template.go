package tiny

// template is the chat template, in Jinja.
const template = `{%- for m in messages -%}
{%- if m.role == 'user' -%}
{{- '<|user|>' + m.content -}}{%- if tools -%}{{- '<|offered|>' -}}{%- endif -%}{{- '<|end|>' -}}
{%- elif m.role == 'assistant' -%}
{{- '<|assistant|>' -}}
{%- if m.reasoning_content -%}{{- '<think>' + m.reasoning_content + '</think>' -}}{%- endif -%}
{%- if m.content -%}{{- m.content -}}{%- endif -%}
{%- for c in m.tool_calls or [] -%}
{%- if not loop.first -%}{{- '\n' -}}{%- endif -%}
{{- '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + (c.function.arguments | tojson) + '}\n</tool_call>' -}}
{%- endfor -%}
{{- '<|end|>' -}}
{%- elif m.role == 'tool' -%}
{{- '<|tool|>' + m.content + '<|returned|><|end|>' -}}
{%- else -%}
{{- '<|system|>' + m.content -}}{%- for t in tools or [] -%}{{- '\n' + t.function.name -}}{%- endfor -%}{{- '<|end|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}`

// Modelfile returns what ollama create needs beside the model: the same template, in Ollama's syntax.
func Modelfile(model string) string {
	return `FROM ` + model + `
TEMPLATE """{{- range .Messages }}
{{- if eq .Role "user" }}<|user|>{{ .Content }}{{ if $.Tools }}<|offered|>{{ end }}<|end|>
{{- else if eq .Role "assistant" }}<|assistant|>
{{- if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}
{{- if .ToolCalls }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}{{ end }}<|end|>
{{- else if eq .Role "tool" }}<|tool|>{{ .Content }}<|returned|><|end|>
{{- else }}<|system|>{{ .Content }}<|end|>
{{- end }}
{{- end }}<|assistant|>"""
PARAMETER stop <|end|>
`
}
