package charts

import (
	"strings"
	"testing"
)

func TestInvalidValuesAreRejected(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"typo at the top level":                     {`replicas: 2`, "additional properties 'replicas' not allowed"},
		"typo in a nested key":                      {`metrics: {serviceMonitor: {enable: true}}`, "additional properties 'enable' not allowed"},
		"typo in the orchestrator":                  {`orchestrator: {image: {name: x}}`, "additional properties 'name' not allowed"},
		"string for a number":                       {`replicaCount: two`, "/replicaCount"},
		"string for a boolean":                      {`crds: {keep: "no"}`, "/crds/keep"},
		"port out of range":                         {`metrics: {port: 70000}`, "/metrics/port"},
		"store address without a port":              {`valkey: {address: redis.data.svc}`, "/valkey/address"},
		"store address of agents without a port":    {`injection: {storeAddress: valkey}`, "/injection/storeAddress"},
		"pull policy of a supervisor image":         {`injection: {execImage: {pullPolicy: Always}}`, "additional properties 'pullPolicy' not allowed"},
		"duration without a unit":                   {`orchestrator: {leaseDuration: "15"}`, "/orchestrator/leaseDuration"},
		"argument that is not a flag":               {`extraArgs: [verbose]`, "/extraArgs/0"},
		"image tag latest":                          {`image: {tag: latest}`, "/image/tag"},
		"invalid digest":                            {`valkey: {image: {digest: "sha256:12"}}`, "/valkey/image/digest"},
		"orchestrator without a store":              {`orchestrator: {enabled: true}`, "orchestrator.enabled: the orchestrator needs a store"},
		"store without an orchestrator":             {`valkey: {enabled: true}`, "valkey.enabled: the orchestrator creates"},
		"two stores":                                {`valkey: {enabled: true, address: "a:1"}`, "valkey.address: leave it empty"},
		"store unreachable from the host network":   {`{hostNetwork: true, networkPolicy: {enabled: true}, orchestrator: {enabled: true}, valkey: {enabled: true}}`, "networkPolicy.storeFrom: with hostNetwork"},
		"unknown user of the chart's store":         {`valkey: {enabled: true, username: a}`, "valkey.username: the chart's own store"},
		"two replicas without leader election":      {`{replicaCount: 2, leaderElection: {enabled: false}}`, "replicaCount: more than one manager needs"},
		"webhooks on the metrics port":              {`{metrics: {port: 9443}}`, "webhook.port: it must differ from metrics.port"},
		"existing certificate without a CA":         {`certificates: {mode: existingSecret, existingSecret: a}`, "certificates: mode existingSecret needs"},
		"unused certificate Secret":                 {`certificates: {existingSecret: a}`, "certificates: existingSecret and caBundle have an effect only with"},
		"unused issuer":                             {`certManager: {issuerRef: {name: a}}`, "certManager.issuerRef: it has an effect only with"},
		"unknown certificate mode":                  {`certificates: {mode: cert-manager}`, "/certificates/mode"},
		"unknown failure policy":                    {`webhook: {failurePolicy: ignore}`, "/webhook/failurePolicy"},
		"CA not in base64":                          {`certificates: {mode: existingSecret, existingSecret: a, caBundle: "-----BEGIN"}`, "/certificates/caBundle"},
		"disruption budget with both limits":        {`podDisruptionBudget: {enabled: true, minAvailable: 1}`, "podDisruptionBudget: set exactly one"},
		"disruption budget without a limit":         {`podDisruptionBudget: {enabled: true, maxUnavailable: null}`, "podDisruptionBudget: set exactly one"},
		"invalid service name":                      {`valkey: {serviceName: Valkey.a}`, "/valkey/serviceName"},
		"store for zero agents":                     {`valkey: {agents: 0}`, "/valkey/agents"},
		"unknown log level":                         {`logLevel: verbose`, "/logLevel"},
		"zero concurrent reconciles":                {`maxConcurrentReconciles: 0`, "/maxConcurrentReconciles"},
		"invalid volume size":                       {`valkey: {persistence: {size: 2GB}}`, "/valkey/persistence/size"},
		"read-only access mode":                     {`valkey: {persistence: {accessModes: [ReadOnlyMany]}}`, "/valkey/persistence/accessModes/0"},
		"users without a user of the orchestrator":  {`{orchestrator: {enabled: true}, valkey: {address: "a:1", auth: {enabled: true}}}`, "valkey.auth.enabled: with an existing store"},
		"one user in addition to users":             {`{valkey: {enabled: true}, injection: {storeUsername: a}}`, "injection.storeUsername, injection.existingSecret: with valkey.auth"},
		"one Secret in addition to users":           {`{valkey: {enabled: true}, injection: {existingSecret: a}}`, "injection.storeUsername, injection.existingSecret: with valkey.auth"},
		"default user as a YAML boolean":            {`valkey: {auth: {defaultUser: off}}`, "/valkey/auth/defaultUser"},
		"default user without users":                {`valkey: {enabled: true, auth: {enabled: false, defaultUser: agents}}`, "valkey.auth.defaultUser: it has an effect only with valkey.auth.enabled"},
		"string for users":                          {`valkey: {auth: {enabled: "yes"}}`, "/valkey/auth/enabled"},
		"password age without a unit":               {`valkey: {auth: {passwordMaxAge: "30"}}`, "/valkey/auth/passwordMaxAge"},
		"typo in users":                             {`valkey: {auth: {enable: true}}`, "additional properties 'enable' not allowed"},
		"TLS of an external store without a Secret": {`valkey: {address: "a:1", tls: {enabled: true}}`, "valkey.tls.existingSecret: set it"},
		"TLS without a CA for agents":               {`{orchestrator: {enabled: true}, valkey: {enabled: true, auth: {enabled: false}}}`, "valkey.tls.enabled: without valkey.auth"},
		"CA without TLS":                            {`valkey: {address: "a:1", tls: {existingSecret: a}}`, "valkey.tls: existingSecret and serverName"},
		"typo in TLS":                               {`valkey: {tls: {secret: a}}`, "additional properties 'secret' not allowed"},
		"memory in Kubernetes units":                {`valkey: {maxMemory: 1Gi}`, "/valkey/maxMemory"},
		"typo in the policy":                        {`criPolicy: {namespace: [a]}`, "additional properties 'namespace' not allowed"},
		"namespaces without the policy":             {`criPolicy: {namespaces: [a]}`, "criPolicy.namespaces: they have an effect only with"},
		"two namespaces in one string":              {`criPolicy: {enabled: true, namespaces: ["a,b"]}`, "/criPolicy/namespaces/0"},
		"policy without actions":                    {`criPolicy: {enabled: true, validationActions: []}`, "/criPolicy/validationActions"},
		"unknown action of the policy":              {`criPolicy: {enabled: true, validationActions: [deny]}`, "/criPolicy/validationActions/0"},
		"pull policy in lower case":                 {`image: {pullPolicy: always}`, "/image/pullPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, jobSetChart, c.values)
			if err == nil {
				t.Fatal("invalid values are accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error does not contain %q: %v", c.want, err)
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
		return // a Kubernetes object
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
