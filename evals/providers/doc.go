// Package providers checks every request of agents and samplers by the rules of the models' providers: a digest of
// OpenAI's OpenAPI description, and a table of each provider's known refusals.
package providers
