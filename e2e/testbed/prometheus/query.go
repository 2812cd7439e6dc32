package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Sample is one series in a query result.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Server is a running Prometheus.
type Server struct {
	// URL is a base URL without a path, such as http://10.87.0.1:9090.
	URL string
}

// Query evaluates an expression now. The result must be a vector or a scalar. An empty result is not an error.
func (s Server) Query(ctx context.Context, expression string) ([]Sample, error) {
	a, err := s.ask(ctx, "/api/v1/query", url.Values{"query": {expression}})
	if err != nil {
		return nil, err
	}
	samples, err := a.samples()
	if err != nil {
		return nil, fmt.Errorf("querying Prometheus for %s: %w", expression, err)
	}
	return samples, nil
}

// ask sends a request to Prometheus' HTTP API.
func (s Server) ask(ctx context.Context, path string, values url.Values) (answer, error) {
	var a answer
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path+"?"+values.Encode(), nil)
	if err != nil {
		return a, fmt.Errorf("querying Prometheus: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, fmt.Errorf("querying Prometheus: %w", err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return a, fmt.Errorf("reading the response from Prometheus (%s): %w", response.Status, err)
	}
	return a, nil
}

// answer is a response from Prometheus' HTTP API, version 1.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

func (a answer) samples() ([]Sample, error) {
	if a.Status != "success" {
		return nil, errors.New(a.Error)
	}
	switch a.Data.ResultType {
	case "vector":
		return vector(a.Data.Result)
	case "scalar":
		var p point
		if err := json.Unmarshal(a.Data.Result, &p); err != nil {
			return nil, err
		}
		return []Sample{{Value: float64(p)}}, nil
	default:
		return nil, fmt.Errorf("the result is a %s, not a vector or a scalar", a.Data.ResultType)
	}
}

func vector(raw json.RawMessage) ([]Sample, error) {
	var series []struct {
		Metric map[string]string `json:"metric"`
		Value  point             `json:"value"`
	}
	if err := json.Unmarshal(raw, &series); err != nil {
		return nil, err
	}
	var samples []Sample
	for _, s := range series {
		samples = append(samples, Sample{Labels: s.Metric, Value: float64(s.Value)})
	}
	return samples, nil
}

// point is [seconds, "value"]. The value is a string, because JSON cannot represent NaN and infinity.
type point float64

func (p *point) UnmarshalJSON(raw []byte) error {
	var pair [2]any
	if err := json.Unmarshal(raw, &pair); err != nil {
		return err
	}
	text, ok := pair[1].(string)
	if !ok {
		return fmt.Errorf("%s is not a sample", raw)
	}
	value, err := strconv.ParseFloat(text, 64)
	*p = point(value)
	return err
}
