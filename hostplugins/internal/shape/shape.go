// Package shape turns a utilization into a score, by interpolating between the points given in
// plugin arguments.
package shape

import (
	"errors"
	"fmt"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Shape maps utilization (percent) to a score (0 … 100), linearly between its
// points.
type Shape []point

type point struct{ utilization, score int64 }

// maxScore is the highest score of a point in the args.
const maxScore = 10

// New returns the shape with these points.
func New(points []configv1.UtilizationShapePoint) (Shape, error) {
	if len(points) == 0 {
		return nil, errors.New("the shape has no points")
	}
	out := make(Shape, 0, len(points))
	for i, p := range points {
		if i > 0 && points[i-1].Utilization >= p.Utilization {
			return nil, fmt.Errorf("the shape's utilizations %d and %d do not ascend", points[i-1].Utilization, p.Utilization)
		}
		out = append(out, point{utilization: int64(p.Utilization), score: int64(p.Score) * (abi.MaxScore / maxScore)})
	}
	return out, nil
}

// Of returns the score of a request against a capacity. A capacity of zero, and a request above
// the capacity, count as full utilization.
func (s Shape) Of(requested, capacity int64) int64 {
	if capacity == 0 || requested > capacity {
		return s.at(100)
	}
	return s.at(quantity.Portion(requested, 100, capacity))
}

func (s Shape) at(utilization int64) int64 {
	for i, p := range s {
		if utilization > p.utilization {
			continue
		}
		if i == 0 {
			return p.score
		}
		before := s[i-1]
		return before.score + (p.score-before.score)*(utilization-before.utilization)/(p.utilization-before.utilization)
	}
	return s[len(s)-1].score
}
