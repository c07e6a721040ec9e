# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

"""Writes into Airflow's database what a test cannot wait for.

    rows.py copy DAG RUN_ID [INDEX...]  a copy of the run of Dag "ended" and of
                                        its task "success", unmapped or mapped
    rows.py set RUN_ID TASK STATE       the state of a task of Dag "ended"
    rows.py many RUNS TASKS             as many copies, "crowd-N", each with as many
                                        instances of its task
    rows.py hide DAG                    gives the Dag to a team
"""

import os
import sqlite3
import sys
import uuid

db = sqlite3.connect(os.path.join(os.environ["AIRFLOW_HOME"], "airflow.db"), timeout=60)
db.row_factory = sqlite3.Row


def insert(table, rows):
    columns = list(rows[0])
    db.executemany(f"INSERT INTO {table} ({','.join(columns)}) VALUES ({','.join('?' * len(columns))})", [tuple(r.values()) for r in rows])


def one(query):
    return dict(db.execute(query).fetchone())


def copies(names, indexes):
    """Copies the scheduler's run of Dag "ended" for each pair of a Dag and a run."""
    run = one("SELECT * FROM dag_run WHERE dag_id = 'ended' ORDER BY id")
    task = one(f"SELECT * FROM task_instance WHERE dag_id = 'ended' AND run_id = '{run['run_id']}' AND task_id = 'success'")
    last = db.execute("SELECT max(id) FROM dag_run").fetchone()[0]
    insert("dag_run", [run | {"id": last + n, "dag_id": dag, "run_id": run_id, "logical_date": None} for n, (dag, run_id) in enumerate(names, 1)])
    insert(
        "task_instance",
        [
            task | {"id": uuid.uuid4().hex, "dag_id": dag, "run_id": run_id, "map_index": index}
            for dag, run_id in names
            for index in indexes
        ],
    )


match sys.argv[1:]:
    case ["copy", dag, run_id, *indexes]:
        copies([(dag, run_id)], [int(i) for i in indexes] or [-1])
    case ["set", run_id, task, state]:
        db.execute("UPDATE task_instance SET state = ? WHERE dag_id = 'ended' AND run_id = ? AND task_id = ?", (state, run_id, task))
    case ["many", runs, tasks]:
        copies([("ended", f"crowd-{n}") for n in range(int(runs))], range(int(tasks)))
    case ["hide", dag]:
        insert("team", [{"name": "others"}])
        insert("dag_bundle", [{"name": "others", "active": 1}])
        insert("dag_bundle_team", [{"dag_bundle_name": "others", "team_name": "others"}])
        db.execute("UPDATE dag SET bundle_name = 'others' WHERE dag_id = ?", (dag,))
    case _:
        sys.exit(__doc__)
db.commit()
