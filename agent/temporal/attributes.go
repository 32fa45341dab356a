package temporal

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// The search attributes of [ClientOptions.SearchAttributes].
const (
	tenantAttribute = "McpchainTenant"
	agentAttribute  = "McpchainAgent"
	statusAttribute = "McpchainStatus"
)

// AddSearchAttributes registers the search attributes of [ClientOptions] that a namespace lacks. It is for servers of
// your own: on Temporal Cloud, and where the program lacks the right, an operator registers them.
func AddSearchAttributes(ctx context.Context, service client.Client, namespace string) error {
	operator := service.OperatorService()
	have, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range []string{tenantAttribute, agentAttribute, statusAttribute} {
		if _, ok := have.CustomAttributes[name]; !ok {
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: missing,
	})
	if _, raced := errors.AsType[*serviceerror.AlreadyExists](err); raced {
		return nil // another process has registered it
	}
	if err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}
