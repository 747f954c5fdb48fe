package outbox

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// State says how far a call is.
type State string

// The states.
const (
	Pending      State = "pending"      // waits for its first try
	Running      State = "running"      // a worker has it; or had it, once its lease is over
	Done         State = "done"         // it was made, with this result
	Failed       State = "failed"       // the last try failed; waits for the next
	Compensating State = "compensating" // failed for good; its compensation runs, or waits for its next try
	Compensated  State = "compensated"  // failed for good; its compensation has committed
	Dead         State = "dead"         // failed for good; waits for a person
)

// States lists all states, in the order of a life.
func States() []State {
	return []State{Pending, Running, Done, Failed, Compensating, Compensated, Dead}
}

// A Job is one call, as the table has it.
type Job struct {
	ID      int64
	Name    string
	Key     string // for the other side: the same for every try
	Payload json.RawMessage

	State         State
	Attempts      int             // tries of the call so far, this one included
	Compensations int             // tries of its compensation
	Error         string          // why the last try failed, or a person's reason
	Result        json.RawMessage // once it is done

	// Due is when the next try is due, and while a worker holds it, when its lease
	// ends. Zero: there is nothing more to do.
	Due     time.Time
	Overdue bool // by the database's clock, Due is over
	Held    bool // a worker holds it, or has vanished holding it

	CreatedAt, UpdatedAt time.Time
}

// Decode decodes the payload into v.
func (j *Job) Decode(v any) error {
	if err := json.Unmarshal(j.Payload, v); err != nil {
		return fmt.Errorf("outbox: payload of call %d: %w", j.ID, err)
	}
	return nil
}

// underWay reports whether a worker's lease runs.
func (j *Job) underWay() bool { return j.Held && !j.Overdue }

// claimed brings a job to what a claim has made of its row.
func (j *Job) claimed() {
	if j.State == Compensating {
		j.Compensations++
	} else {
		j.Attempts++
		j.State = Running
	}
	j.Held, j.Overdue = true, false
}

// sameStep reports whether nobody has claimed the call between the two.
func (j *Job) sameStep(k *Job) bool {
	return j.Attempts == k.Attempts && j.Compensations == k.Compensations
}

// tries is how often what is under way was tried.
func (j *Job) tries() int {
	if j.State == Compensating {
		return j.Compensations
	}
	return j.Attempts
}

// scanJob scans the columns of a row.
func scanJob(scan func(...any) error) (*Job, error) {
	j := new(Job)
	var payload, text, result sql.NullString
	var due, created, updated sql.NullInt64
	var held, overdue int
	err := scan(&j.ID, &j.Name, &j.State, &j.Key, &payload, &j.Attempts, &j.Compensations, &text, &result,
		&due, &created, &updated, &held, &overdue)
	if err != nil {
		return nil, err
	}
	j.Error = text.String
	if payload.Valid {
		j.Payload = json.RawMessage(payload.String)
	}
	if result.Valid {
		j.Result = json.RawMessage(result.String)
	}
	j.Due, j.CreatedAt, j.UpdatedAt = moment(due), moment(created), moment(updated)
	j.Held, j.Overdue = held != 0, overdue != 0
	return j, nil
}

// scanJobs scans all rows and closes them.
func scanJobs(rows *sql.Rows, err error) ([]*Job, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var jobs []*Job
	for rows.Next() {
		j, err := scanJob(rows.Scan)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

func moment(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micros.Int64).UTC()
}
