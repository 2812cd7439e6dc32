package picture

import (
	"fmt"
	"strconv"
)

// Format formats a value in a Grafana unit with three digits and, where useful, a prefix.
func Format(value float64, unit string) string {
	if !drawable(value) {
		return "-"
	}
	switch unit {
	case "percentunit":
		return digits(value*100) + " %"
	case "s":
		return duration(value)
	case "bytes":
		for _, prefix := range []string{"B", "KiB", "MiB"} {
			if value < 1024 {
				return digits(value) + " " + prefix
			}
			value /= 1024
		}
		return digits(value) + " GiB"
	case "ops":
		return digits(value) + "/s"
	}
	return digits(value)
}

func duration(seconds float64) string {
	switch {
	case seconds == 0:
		return "0 s"
	case seconds < 1:
		return digits(seconds*1000) + " ms"
	case seconds < 120:
		return digits(seconds) + " s"
	case seconds < 7200:
		return digits(seconds/60) + " min"
	}
	return digits(seconds/3600) + " h"
}

func digits(value float64) string {
	if value >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", value), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
