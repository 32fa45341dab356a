package talk

import (
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// failureText says in a sentence why a turn has failed. again reports whether it may end otherwise if it is tried again.
func failureText(end *ledger.Ended) (text string, again bool) {
	const operator = " Whoever runs this page can mend that."
	switch kind := model.ErrorKind(end.ModelError); kind {
	case model.ErrorRateLimit:
		return "The model has too much to do at the moment.", true
	case model.ErrorUnavailable:
		return "The model cannot be reached, or is out of order.", true
	case model.ErrorTimeout:
		return "The model did not answer in time.", true
	case model.ErrorAuth:
		return "The model's provider refuses the key of this page, or its quota is used up." + operator, true
	case model.ErrorNotFound:
		return "The model's provider does not have this model." + operator, true
	case model.ErrorTooLong:
		return "The conversation is too long for the model. Begin a new one.", false
	case model.ErrorRefused:
		return "The model's provider refuses to answer this. Ask in another way.", false
	case model.ErrorInvalid:
		return "The model's provider does not accept the request." + operator, false
	}
	switch end.Stop {
	case "":
		return "Something went wrong.", true
	case record.StopParked:
		return "The program ended several times while it worked on this.", true
	}
	return "There was no answer before the turn came to its limit.", true
}
