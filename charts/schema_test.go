package charts

import (
	"strings"
	"testing"
)

func TestInvalidValuesAreRejected(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"a typo at the top":                 {`replicas: 2`, "additional properties 'replicas' not allowed"},
		"a typo below":                      {`metrics: {serviceMonitor: {enable: true}}`, "additional properties 'enable' not allowed"},
		"a typo in the sidecar":             {`orchestrator: {image: {name: x}}`, "additional properties 'name' not allowed"},
		"a word for a number":               {`replicaCount: two`, "/replicaCount"},
		"a word for a flag":                 {`crds: {keep: "no"}`, "/crds/keep"},
		"a port that is none":               {`metrics: {port: 70000}`, "/metrics/port"},
		"an address without a port":         {`valkey: {address: redis.data.svc}`, "/valkey/address"},
		"an address of agents without one":  {`injection: {storeAddress: valkey}`, "/injection/storeAddress"},
		"a policy that nobody follows":      {`injection: {execImage: {pullPolicy: Always}}`, "additional properties 'pullPolicy' not allowed"},
		"a duration without a unit":         {`orchestrator: {leaseDuration: "15"}`, "/orchestrator/leaseDuration"},
		"an argument that is no flag":       {`extraArgs: [verbose]`, "/extraArgs/0"},
		"an image that may change":          {`image: {tag: latest}`, "/image/tag"},
		"a digest that is none":             {`valkey: {image: {digest: "sha256:12"}}`, "/valkey/image/digest"},
		"an orchestrator without a store":   {`orchestrator: {enabled: true}`, "orchestrator.enabled: the orchestrator needs a store"},
		"a store that nobody prepares":      {`valkey: {enabled: true}`, "valkey.enabled: the orchestrator creates"},
		"two stores":                        {`valkey: {enabled: true, address: "a:1"}`, "valkey.address: leave it empty"},
		"a user that the store has not":     {`valkey: {enabled: true, username: a}`, "valkey.username: the chart's own store"},
		"two managers without an election":  {`{replicaCount: 2, leaderElection: {enabled: false}}`, "replicaCount: more than one manager needs"},
		"webhooks where metrics are":        {`{metrics: {port: 9443}}`, "webhook.port: it is that of metrics.port"},
		"certificates of nobody":            {`certificates: {mode: existingSecret, existingSecret: a}`, "certificates: mode existingSecret needs"},
		"a Secret that is not used":         {`certificates: {existingSecret: a}`, "certificates: existingSecret and caBundle are for"},
		"an issuer that is not used":        {`certManager: {issuerRef: {name: a}}`, "certManager.issuerRef: it is for"},
		"certificates of a kind unknown":    {`certificates: {mode: cert-manager}`, "/certificates/mode"},
		"a failure policy that is none":     {`webhook: {failurePolicy: ignore}`, "/webhook/failurePolicy"},
		"a CA that is not in base64":        {`certificates: {mode: existingSecret, existingSecret: a, caBundle: "-----BEGIN"}`, "/certificates/caBundle"},
		"a disruption budget of two kinds":  {`podDisruptionBudget: {enabled: true, minAvailable: 1}`, "podDisruptionBudget: set exactly one"},
		"a disruption budget of no kind":    {`podDisruptionBudget: {enabled: true, maxUnavailable: null}`, "podDisruptionBudget: set exactly one"},
		"a service name that DNS refuses":   {`valkey: {serviceName: Valkey.a}`, "/valkey/serviceName"},
		"room for no agent":                 {`valkey: {agents: 0}`, "/valkey/agents"},
		"a log level that does not exist":   {`logLevel: verbose`, "/logLevel"},
		"nothing that may be done at once":  {`maxConcurrentReconciles: 0`, "/maxConcurrentReconciles"},
		"a volume of an unknown size":       {`valkey: {persistence: {size: 2GB}}`, "/valkey/persistence/size"},
		"an access mode that is read-only":  {`valkey: {persistence: {accessModes: [ReadOnlyMany]}}`, "/valkey/persistence/accessModes/0"},
		"users at a store without one":      {`{orchestrator: {enabled: true}, valkey: {address: "a:1", auth: {enabled: true}}}`, "valkey.auth.enabled: with an existing store"},
		"a user of all beside users":        {`{valkey: {enabled: true}, injection: {storeUsername: a}}`, "injection.storeUsername, injection.existingSecret: with valkey.auth"},
		"a Secret of all beside users":      {`{valkey: {enabled: true}, injection: {existingSecret: a}}`, "injection.storeUsername, injection.existingSecret: with valkey.auth"},
		"a default user that YAML reads":    {`valkey: {auth: {defaultUser: off}}`, "/valkey/auth/defaultUser"},
		"a default user without users":      {`valkey: {enabled: true, auth: {enabled: false, defaultUser: agents}}`, "valkey.auth.defaultUser: it has an effect only with valkey.auth.enabled"},
		"a word for users":                  {`valkey: {auth: {enabled: "yes"}}`, "/valkey/auth/enabled"},
		"an age without a unit":             {`valkey: {auth: {passwordMaxAge: "30"}}`, "/valkey/auth/passwordMaxAge"},
		"a typo in users":                   {`valkey: {auth: {enable: true}}`, "additional properties 'enable' not allowed"},
		"TLS of a store nobody knows":       {`valkey: {address: "a:1", tls: {enabled: true}}`, "valkey.tls.existingSecret: set it"},
		"TLS without a CA for agents":       {`{orchestrator: {enabled: true}, valkey: {enabled: true, auth: {enabled: false}}}`, "valkey.tls.enabled: without valkey.auth"},
		"a CA without TLS":                  {`valkey: {address: "a:1", tls: {existingSecret: a}}`, "valkey.tls: existingSecret and serverName"},
		"a typo in TLS":                     {`valkey: {tls: {secret: a}}`, "additional properties 'secret' not allowed"},
		"memory in other units":             {`valkey: {maxMemory: 1Gi}`, "/valkey/maxMemory"},
		"a typo in the policy":              {`criPolicy: {namespace: [a]}`, "additional properties 'namespace' not allowed"},
		"namespaces of no policy":           {`criPolicy: {namespaces: [a]}`, "criPolicy.namespaces: they are for"},
		"a namespace that is two":           {`criPolicy: {enabled: true, namespaces: ["a,b"]}`, "/criPolicy/namespaces/0"},
		"a policy that does nothing":        {`criPolicy: {enabled: true, validationActions: []}`, "/criPolicy/validationActions"},
		"an action that is none":            {`criPolicy: {enabled: true, validationActions: [deny]}`, "/criPolicy/validationActions/0"},
		"a pull policy in the wrong letter": {`image: {pullPolicy: always}`, "/image/pullPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, jobSetChart, c.values)
			if err == nil {
				t.Fatal("they are taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error does not say %q: %v", c.want, err)
			}
		})
	}
}

func compareKeys(t *testing.T, at string, schema, definitions map[string]any, values map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema, _ = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
	}
	if schema["additionalProperties"] != false {
		return // an object of Kubernetes
	}
	properties, _ := schema["properties"].(map[string]any)
	for key, property := range properties {
		if _, there := values[key]; !there && key != "holdfast-library" && key != "claims" {
			t.Errorf("values.yaml does not have %s", at+key)
		}
		below, _ := property.(map[string]any)
		if value, ok := values[key].(map[string]any); ok {
			compareKeys(t, at+key+".", below, definitions, value)
		}
	}
}
