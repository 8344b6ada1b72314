-- apply.lua: applies the ledger's numbered operations to one sale, in order and each once (rule 1,
-- docs/architecture.md). Repeating it, late or concurrently, applies nothing twice.
--
-- KEYS (one hash slot)
--   1  sale    hash
--   2  buyers  hash  user id -> order, as in seckill.lua
-- ARGV
--   1  delay   milliseconds until a unit that comes back to a sold-out sale can be sold, as in correct.lua
--   2  first   number of the first operation below; the others are numbered without gaps. 0 with none
--   3  last    number of the ledger's last operation, read with those below
--   4… delta, kept, order, user id, mode, begin, end, identity, decision; nine for each operation, 0 to 250 operations:
--        delta       units: above 0 to give back, below 0 to take
--        kept     units that the ledger keeps for those who wait, besides delta: they are not for sale here.
--                    Below 0 without a delta, such units are accepted: the user becomes the holder of the order, or is
--                    refused because they hold another one
--        order       as in buyers, "0" for none. Giving back all units of an order removes the user from the buyers if
--                    they hold this order. Taking them makes the user its holder: the revival of a cancelled order
--        mode        "open", "paused", "off" or "over" from now on, with the window in milliseconds since 1970; "" leaves both
--        identity    its random bits as text; "0" for one that has none: of version 1.0, or written while one may live
--        decision    the kind of an operation that a person decided; "" for others
--
-- Returns a flat array:
--   1   0 DONE, 1 MISSING (there is no readable sale), 2 REBUILDING (the rebuild deals with what is pending; also when
--       another server opened the sale, as in seckill.lua: orders that this one has lost may hold units),
--       3 GAP (operations before the first are missing: this Redis has lost them), or 4 OTHER (this Redis has applied an
--       operation with a number above the last, or with another identity than the ledger's of that number: unless the
--       caller read too early, the ledger has lost operations). Anything was written only after DONE
--   2   epoch
--   3   number of the last operation that the sale contains, after this call
--   4   0, or in how many milliseconds the call has to be sent again, as it is: a revival or an acceptance waits (see below),
--       and with it what comes after it
--   5…  for each operation up to there, in order, two elements: 1 (applied; a take got its units), 0 (a take was refused)
--       or -1 (a take whose outcome is forgotten); and the sequence that it raised the sale to, 0 if it did not. Only
--       a revival and an acceptance do, as they make a holder
--
-- Outcomes of takes are kept while somebody may ask for them: a call forgets those before its first operation, because
-- its caller has seen them completed in the ledger.
--
-- Units come from the stock, then from returned units. A revival makes its user a holder again. But while a returned
-- unit waits to be sold, instances may answer that user SOLD_OUT from their cache (rule 11). So a revival that needs
-- such a unit only reserves it, and makes the user the holder once the wait is over. An acceptance takes no unit from
-- the stock, but it waits as well if nothing is for sale: meanwhile the sale shows a reserved unit, so that instances
-- do not cache it as sold out. Once the wait is over, all acceptances of the call are applied.
--
-- Needs: clock, identity, limits, number, returned, sale, server

local DONE, MISSING, REBUILDING, GAP, OTHER = 0, 1, 2, 3, 4
local FIRST, WIDTH = 4, 9 -- where the operations begin in ARGV, and how many elements each has

local call = redis.call
local sale_key, buyers_key = KEYS[1], KEYS[2]
local delay, first, last = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local n = (#ARGV - FIRST + 1) / WIDTH
if not (delay and first and last) or delay > MAX_DELAY or n > MAX_OPERATIONS or n ~= math.floor(n) or (n > 0 and first < 1) then
  return redis.error_reply('ERR apply.lua: bad arguments')
end

-- Read everything first: Redis does not undo the writes of a script that fails.
local sale = call('HMGET', sale_key, 'mode', 'epoch', 'seq', 'stock', 'begin', 'end', 'op', 'building',
  'returned', 'returned_at', 'reserved', 'reserved_at', 'takes', 'resumes', 'server', 'extra', 'reserved_units',
  'reserved_kept', 'op_id')
local users, deltas, kept_units = {}, {}, {}
for i = 1, n do
  local at = FIRST + WIDTH * (i - 1)
  deltas[i], kept_units[i], users[i] = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 3]
  if not (deltas[i] and kept_units[i]) then
    return redis.error_reply('ERR apply.lua: bad arguments')
  end
end
local holders = n > 0 and call('HMGET', buyers_key, unpack(users)) or {} -- order ids
local now = clock()

local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
local opens, closes = sale[5], sale[6]
local op = number(sale[7])
local returned, returned_at = number(sale[9]) or 0, number(sale[10]) or 0
local reserved, reserved_at = number(sale[11]) or 0, number(sale[12]) or 0
local resumes = number(sale[14]) or 0 -- when a rebuilt sale starts to sell
local extra, reserved_units = number(sale[16]) or 0, number(sale[17]) or 1
local reserved_kept = sale[18] and reserved > 0 -- reserved for an acceptance, so not a unit of the stock
if not (epoch and seq and stock and number(opens) and number(closes))
  or not MODES[mode] then
  return {MISSING, 0, 0, 0}
end
if mode == 'rebuild' or (number(sale[8]) or 0) > 0 or other_server(sale[15]) then
  return {REBUILDING, epoch, op or 0, 0}
end
if not op or (n > 0 and first > op + 1) then
  return {GAP, epoch, op or 0, 0}
end
local function identity_of(op_number)
  return ARGV[FIRST + WIDTH * (op_number - first) + 7]
end
if op > last or (n > 0 and op >= first and op < first + n and not same_identity(sale[19], op, identity_of(op))) then
  return {OTHER, epoch, op, 0}
end

stock, returned = ripen(stock, returned, returned_at, now)

local function give(units)
  stock, returned, returned_at = give_back(units, stock, returned, returned_at, now, delay)
end

local function take(units)
  if stock + returned < units then
    return false
  end
  local from_stock = math.min(stock, units)
  stock, returned = stock - from_stock, returned - (units - from_stock)
  return true
end

local changed = {} -- user id -> the order id that this call gave them, or '' for none
local sequence_of = {} -- number of an operation that made a holder -> the sequence that it raised the sale to
local wait = 0

-- admit makes the user the holder of the order, and returns true. It raises the sequence, so that instances that
-- cache the holders by epoch and sequence read them again.
local function admit(op_number, user, order, units)
  changed[user] = order
  extra = extra + units - 1
  seq = seq + 1
  sequence_of[op_number] = seq
  return true
end

-- revive decides a revival: true (its user holds the order), false (refused), or nil (its units are not available yet).
local function revive(op_number, user, order, units, current)
  if current == '' then
    if reserved == op_number then
      if not past(reserved_at, now) then
        wait = reserved_at - now
        return nil
      end
      reserved, reserved_units = 0, 1
    elseif stock >= units and past(resumes, now) then
      stock = stock - units
    elseif stock + returned >= units then
      reserved, reserved_units, reserved_at = op_number, units, stock >= units and resumes or returned_at
      take(units)
      wait = reserved_at - now
      return nil
    else
      return false
    end
    return admit(op_number, user, order, units)
  end
  if reserved == op_number then -- another order of the user came first
    give(reserved_units)
    reserved, reserved_units = 0, 1
  end
  return current == order
end

local uncached = false -- true: no instance can have cached the sale as sold out

-- accept decides an acceptance, with the results of revive.
local function accept(op_number, user, order, units, current)
  if current ~= '' then
    if reserved == op_number then
      reserved, reserved_kept = 0, false
    end
    return current == order
  end
  if reserved == op_number then
    if not past(reserved_at, now) then
      wait = reserved_at - now
      return nil
    end
    reserved, reserved_kept, uncached = 0, false, true
  elseif not uncached and not (stock > 0 and past(resumes, now)) then
    reserved, reserved_kept, reserved_at = op_number, true, now + delay
    wait = delay
    return nil
  end
  return admit(op_number, user, order, units)
end

-- outcome_text formats the outcome of a take for the sale's field takes.
local function outcome_text(op_number, outcome, sequence)
  if sequence == 0 then
    return string.format('%.0f=%d', op_number, outcome)
  end
  return string.format('%.0f=%d:%.0f', op_number, outcome, sequence)
end

local results, takes, outcome_of = {}, {}, {}
for text, outcome, sequence in string.gmatch(sale[13] or '', '(%d+)=(%d):?(%d*)') do
  local op_number = tonumber(text)
  outcome_of[op_number], sequence_of[op_number] = tonumber(outcome), tonumber(sequence)
  if op_number >= first then
    takes[#takes + 1] = outcome_text(op_number, outcome_of[op_number], sequence_of[op_number] or 0)
  end
end
local before, was_reserved, decided = op, reserved, nil
for i = 1, n do
  local at = FIRST + WIDTH * (i - 1)
  local op_number, delta, kept, order, user = first + i - 1, deltas[i], kept_units[i], ARGV[at + 2], users[i]
  local accepts = delta == 0 and kept < 0
  if op_number <= before then
    results[i] = delta >= 0 and not accepts and 1 or outcome_of[op_number] or -1
  else
    local done = true
    local current = changed[user] or holders[i] or ''
    if delta > 0 or kept > 0 then
      if delta > 0 then
        give(delta)
      end
      if order ~= '0' and current == order then
        changed[user] = ''
        extra = math.max(0, extra - (delta + kept - 1))
      end
    elseif delta < 0 or accepts then
      if accepts then
        done = accept(op_number, user, order, -kept, current)
      elseif order == '0' then
        done = take(-delta)
      else
        done = revive(op_number, user, order, -delta, current)
      end
      if done == nil then
        break
      end
      takes[#takes + 1] = outcome_text(op_number, done and 1 or 0, sequence_of[op_number] or 0)
    end
    if ARGV[at + 4] ~= '' then
      mode, opens, closes = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
    end
    if done and ARGV[at + 8] ~= '' then -- false: not known from now on
      decided = ARGV[at + 7] ~= '0' and operation_text(op_number, ARGV[at + 7]) .. ' ' .. ARGV[at + 8]
    end
    results[i], op = done and 1 or 0, op_number
  end
end

if op > before or reserved ~= was_reserved then
  -- Redis refuses only a script's first write, and never refuses HDEL for lack of memory. So HSET comes first.
  call('HSET', sale_key, 'mode', mode, 'begin', opens, 'end', closes, 'seq', whole(seq),
    'stock', whole(stock), 'returned', whole(returned),
    'returned_at', whole(returned_at), 'reserved', whole(reserved),
    'reserved_at', whole(reserved_at), 'op', whole(op), 'takes', table.concat(takes, ' '))
  if op > before and identity_of(op) ~= '0' then
    call('HSET', sale_key, 'op_id', operation_text(op, identity_of(op)))
  end
  if decided then
    call('HSET', sale_key, 'decided', decided)
  elseif decided == false or (op > before and not string.find(sale[19] or '', '^' .. whole(before) .. ' ')) then
    call('HDEL', sale_key, 'decided') -- operations without an identity were applied, perhaps decisions
  end
  if extra ~= (number(sale[16]) or 0) then
    call('HSET', sale_key, 'extra', whole(extra))
  end
  if reserved_units > 1 then
    call('HSET', sale_key, 'reserved_units', whole(reserved_units))
  elseif sale[17] then
    call('HDEL', sale_key, 'reserved_units')
  end
  if reserved_kept then
    call('HSET', sale_key, 'reserved_kept', '1')
  elseif sale[18] then
    call('HDEL', sale_key, 'reserved_kept')
  end
  for user, order in pairs(changed) do
    if order == '' then
      call('HDEL', buyers_key, user)
    else
      call('HSET', buyers_key, user, order)
    end
  end
end

local answer = {DONE, epoch, op, wait}
for i = 1, #results do
  answer[2 * i + 3], answer[2 * i + 4] = results[i], sequence_of[first + i - 1] or 0
end
return answer
