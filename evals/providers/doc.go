// Package providers holds every request that agents and samplers send against what
// the providers of models take: a digest of OpenAI's OpenAPI description, and a
// table of what each of them is known to refuse.
package providers
