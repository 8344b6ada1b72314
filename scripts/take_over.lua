-- take_over.lua: takes over the entries of dead consumers, and removes dead consumers without entries. It also takes
-- over stranded entries: delivered but not acknowledged, and pending for no consumer, because somebody removed the
-- consumer by hand or moved the group past the entries.
--
-- A consumer is dead if it has neither sent a heartbeat nor read from Redis for the given time. The caller is never
-- dead. Everything happens in one step, so no consumer with pending entries is removed: Redis would forget the entries.
-- Stranded entries are searched only at the beginning of the stream: that costs nothing while there are none, and they
-- get there once all entries before them are acknowledged.
--
-- KEYS (one hash slot)
--   1  orders     stream
--   2  consumers  sorted set  consumer name -> time of its last heartbeat, milliseconds since 1970
-- ARGV
--   1  group
--   2  name of the caller, who gets the entries
--   3  how many entries at most, 1 to 1,000
--   4  silence after which a consumer is dead, milliseconds
--
-- Returns an array of three:
--   1  the entries taken over, each {id, {field, value, …}}
--   2  the ids of pending entries that somebody trimmed from the stream; they are no longer pending
--   3  the names of the consumers removed
-- The error starts with NOGROUP if stream or group do not exist.
--
-- Needs: clock, number

local orders_key, consumers_key = KEYS[1], KEYS[2]
local group, self = ARGV[1], ARGV[2]
local left, silence = tonumber(ARGV[3]), tonumber(ARGV[4])
if not (left and silence) or left < 1 or left > 1000 then
  return redis.error_reply('ERR take_over.lua: bad arguments')
end
local call = redis.call
if call('EXISTS', orders_key) == 0 then
  return redis.error_reply('NOGROUP take_over.lua: the stream does not exist')
end
local now = clock()

-- A heartbeat from the far future does not count: the clock was set back since, and a living consumer would have sent
-- another one. Meanwhile Redis reports an idle time of 0, until the clock has caught up.
local function silent(name, idle)
  local heartbeat = tonumber(call('ZSCORE', consumers_key, name) or '')
  if heartbeat and heartbeat - now > silence then
    return true
  end
  local quiet = not heartbeat or now - heartbeat > silence
  return quiet and (idle < 0 or idle > silence) -- below 0: unknown
end

local taken, gone, removed = {}, {}, {}
local function take_over(name)
  local ids = {}
  for _, pending in ipairs(call('XPENDING', orders_key, group, '-', '+', whole(left), name)) do
    ids[#ids + 1] = pending[1]
  end
  if #ids == 0 then
    return
  end
  left = left - #ids
  local claimed = {}
  for _, entry in ipairs(call('XCLAIM', orders_key, group, self, '0', unpack(ids))) do
    if entry then
      claimed[entry[1]] = true
      taken[#taken + 1] = entry
    end
  end
  for _, id in ipairs(ids) do
    if not claimed[id] then
      gone[#gone + 1] = id
    end
  end
end

-- members turns a flat array of names and values into a table.
local function members(list)
  local of = {}
  for i = 1, #list, 2 do
    of[list[i]] = list[i + 1]
  end
  return of
end

local function id(text)
  local ms, seq = string.match(text, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end

local function before(a, b)
  local a_ms, a_seq = id(a)
  local b_ms, b_seq = id(b)
  return a_ms < b_ms or a_ms == b_ms and a_seq < b_seq
end

-- delivered returns the id of the last delivered entry.
local function delivered()
  for _, info in ipairs(call('XINFO', 'GROUPS', orders_key)) do
    local found = members(info)
    if found['name'] == group then
      return found['last-delivered-id']
    end
  end
end

local function take_stranded()
  local first = call('XRANGE', orders_key, '-', '+', 'COUNT', '1')[1]
  local pending = call('XPENDING', orders_key, group)[2]
  if not first or pending and not before(first[1], pending) then
    return
  end
  local ids = {}
  for _, entry in ipairs(call('XRANGE', orders_key, '-', delivered(), 'COUNT', whole(left))) do
    if pending and not before(entry[1], pending) then
      break
    end
    ids[#ids + 1] = entry[1]
    taken[#taken + 1] = entry
  end
  if #ids > 0 then
    ids[#ids + 1], ids[#ids + 2] = 'FORCE', 'JUSTID'
    call('XCLAIM', orders_key, group, self, '0', unpack(ids))
  end
end

local infos = redis.pcall('XINFO', 'CONSUMERS', orders_key, group)
if infos['err'] then
  return infos
end
local present = {}
for _, info in ipairs(infos) do
  local consumer = members(info)
  local name = consumer['name']
  present[name] = true
  if name ~= self and silent(name, consumer['idle']) then
    if left > 0 and consumer['pending'] > 0 then
      take_over(name)
    end
    if #call('XPENDING', orders_key, group, '-', '+', '1', name) == 0 then
      call('XGROUP', 'DELCONSUMER', orders_key, group, name)
      call('ZREM', consumers_key, name)
      removed[#removed + 1] = name
    end
  end
end
if left > 0 then
  take_stranded()
end

-- forget removes heartbeats of consumers that died before they read anything.
local function forget(from, to)
  for _, name in ipairs(call('ZRANGEBYSCORE', consumers_key, from, to, 'LIMIT', '0', '100')) do
    if not present[name] and name ~= self then
      call('ZREM', consumers_key, name)
    end
  end
end
forget('-inf', '(' .. whole(now - silence))
forget('(' .. whole(now + silence), '+inf')
return {taken, gone, removed}
