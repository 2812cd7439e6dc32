-- step.go and tokens.go: what starts together. Stages are counted from 1 here, from 0 on the wire; steps from 0.

local noFailure = {
  slot = '', kind = '', exitCode = 0, podName = '', node = '', signal = 0, reason = '', failedAt = 0, detectedAt = 0,
}

-- blame puts a failure, of which nothing has to be there, into a record that has one among its fields.
local function blame(r, f)
  for i = 1, #FAILURE do
    local field = FAILURE[i][1]
    r[field] = f[field] or noFailure[field]
  end
  return r
end

-- failureOf copies the failure in such a record.
local function failureOf(r)
  return blame({}, r)
end

local function newStep(known)
  return blame({ entered = NO_ROUND, known = known, unassigned = 0, atBarrier = 0 }, noFailure)
end

-- reset forgets everything about steps and stages.
function Group:reset()
  local last = 0
  self.counts, self.steps = {}, {}
  for i = 1, #self.stages do
    self.counts[i] = { joined = 0, done = 0, gone = 0, left = false }
    last = math.max(last, self.stages[i].step)
  end
  for k = 1, last + 1 do
    self.steps[k] = newStep(false)
  end
end

local function isIndex(s)
  return s == '0' or string.sub(s, 1, 1) ~= '0'
end

-- stage is the index of a slot's stage, nil if the slot is none of the group's.
function Group:stage(slot)
  if self.staged ~= slot then -- a report asks for its own a few times
    self.staged, self.stagedAt = slot, self:findStage(slot)
  end
  return self.stagedAt
end

function Group:findStage(slot)
  if #slot > MAX_WORD then
    return nil
  end
  for i = 1, #self.stages do
    local stage = self.stages[i]
    local n = #stage.prefix
    if string.sub(slot, 1, n) == stage.prefix then
      local job, pod = string.match(slot, '^%-(%d+)%-(%d+)$', n + 1)
      if job and isIndex(job) and isIndex(pod) and tonumber(job) < stage.jobs and tonumber(pod) < stage.pods then
        return i
      end
    end
  end
  return nil
end

function Group:slotsOf(i)
  return self.stages[i].jobs * self.stages[i].pods
end

function Group:step(i)
  return self.steps[self.stages[i].step + 1]
end

function Group:forming(i)
  return self:step(i).entered == NO_ROUND
end

-- tally looks once at every stage. For each step it reports whether all of its stages have left, and whether all slots of those
-- that have not left have joined.
function Group:tally()
  local left, complete = {}, {}
  for k = 1, #self.steps do
    left[k], complete[k] = true, true
  end
  for i = 1, #self.stages do
    local k, c = self.stages[i].step + 1, self.counts[i]
    if not c.left then
      left[k] = false
      complete[k] = complete[k] and c.joined >= self:slotsOf(i)
    end
  end
  return left, complete
end

-- expected reports whether a stage's slots have to be in sync, given what anyBegun says.
function Group:expected(i, anyBegun)
  return not self.counts[i].left and (not anyBegun or self:begun(i))
end

function Group:begun(i)
  return not self:forming(i) or self:step(i).known
end

function Group:anyBegun()
  for i = 1, #self.stages do
    if not self.counts[i].left and self:begun(i) then
      return true
    end
  end
  return false
end

-- enterSteps lets the steps in that are complete, never one before those ahead of it.
function Group:enterSteps()
  local left, complete = self:tally()
  for k = 1, #self.steps do
    local step = self.steps[k]
    if not left[k] and step.entered == NO_ROUND then
      if not complete[k] then
        return
      end
      step.entered = self.round
      if step.kind ~= '' then
        self:soilAll(failureOf(step))
        blame(step, noFailure)
      end
    end
  end
end

-- leaveStages lets the stages go that have finished and that nothing holds any longer.
function Group:leaveStages()
  local succeeded = self:succeeded()
  for i = 1, #self.stages do
    local stage = self.stages[i]
    local c = self.counts[i]
    local held = c.gone < c.done and stage.release ~= 'gate' and not succeeded
    if c.done == self:slotsOf(i) and not held then
      c.left = true
    end
  end
end

-- succeeded reports whether all that is needed has finished: the stages that say so and the gates; if none says so, every one.
function Group:succeeded()
  local said = false
  for i = 1, #self.stages do
    said = said or self.stages[i].release == 'needed'
  end
  for i = 1, #self.stages do
    local release = self.stages[i].release
    local needed = not said or release == 'needed' or release == 'gate'
    if needed and self.counts[i].done < self:slotsOf(i) then
      return false
    end
  end
  return true
end

-- nextRound takes the steps that have entered out of sync. Their finished workers run again.
function Group:nextRound()
  for i = 1, #self.counts do
    local c = self.counts[i]
    if not self:forming(i) and not c.left then
      c.joined, c.done, c.gone = 0, 0, 0
    end
  end
end

-- inSync tells whether all slots of the steps that have entered are of the desired round.
function Group:inSync()
  local entered = false
  local _, complete = self:tally()
  for k = 1, #self.steps do
    local step = self.steps[k]
    if step.entered ~= NO_ROUND then
      if not complete[k] then
        return false
      end
      entered = true
    end
  end
  return entered
end

-- stuck tells whether a finished worker of a step that has entered cannot run again.
function Group:stuck()
  for i = 1, #self.counts do
    local c = self.counts[i]
    if c.gone > 0 and not c.left and not self:forming(i) then
      return true
    end
  end
  return false
end

-- tokens is what the level says of the steps.
function Group:tokens()
  local list = {}
  local left = self:tally()
  for k = 1, #self.steps do
    local step = self.steps[k]
    list[k] = step.entered == NO_ROUND and '-' or format(step.entered)
    if left[k] then
      list[k] = 'x'
    end
  end
  for i = 1, #self.stages do
    local stage = self.stages[i]
    local k = stage.step + 1
    if self.counts[i].left and list[k] ~= 'x' then
      list[k] = list[k] .. '!' .. format(i - 1)
    end
  end
  return table.concat(list, ',')
end
