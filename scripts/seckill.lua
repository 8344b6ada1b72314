-- seckill.lua: lets applicants into one sale. It covers the window, the stock and one place per user, and appends the
-- accepted orders to the stream: all of it in one atomic step.
--
-- KEYS (one hash slot)
--   1  sale     hash    the sale's state; fields in internal/redisstore/keys.go
--   2  buyers   hash    user id -> order id of everyone who holds a place
--   3  orders   stream  accepted orders that wait for their rows
-- ARGV
--   1  voucher id
--   2  known epoch       the highest mark (epoch, sequence) that the caller has seen of this sale
--   3  known sequence
--   4  max backlog       entries in the stream at which nobody is admitted any more
--   5… user id, order id; one pair for each applicant, 1 to 256 pairs. Ids are opaque text, never numbers: a Lua
--      number is exact only up to 2^53.
--
-- Returns a flat array:
--   1  mode              "open", "paused", "off" or "rebuild"; "" when there is no sale
--   2  epoch
--   3  sequence          after this call
--   4  stock             units left after this call, returned and reserved ones that are not yet sellable included
--   5  buyers            users who hold a place, after this call
--   6  begin, 7 end      the window in milliseconds since 1970, the end exclusive
--   8  now               Redis's clock in milliseconds since 1970
--   9… one element for each applicant, in order: a code, or the text of the order id that the user has already
--      (ALREADY_BOUGHT, 1, which is never returned as a code)
--
-- Codes, in the order in which they are decided; the same numbers as order.OutcomeCode:
--   0 ACCEPTED      a unit was taken for this order id, now or by an earlier call
--   1 ALREADY_BOUGHT the user has another order: asked before mode, window and stock, so that a winner whose answer
--                   was lost is told his order whatever has happened to the sale since
--   2 NO_SALE       there is no readable sale; for every applicant
--   3 LOST_TAIL     the sale is behind the known mark: this Redis has lost writes that it had acknowledged. Or another
--                   server opened it: this one was restarted or took over, and may have lost some. The sale
--                   is stopped (mode "rebuild"), unless Redis takes no writes; the caller asks for a rebuild of the
--                   epoch in this answer either way. For every applicant, as the places may be out of date too
--   4 REBUILDING    5 NOT_ON_SHELF   6 PAUSED   7 NOT_STARTED   8 ENDED
--   9 SOLD_OUT      no sellable unit; and then, for a moment after some rebuilds, PAUSED (begin_rebuild.lua says why)
--   10 BACKLOGGED   too many orders wait in the stream
-- An error reply that names Redis's own state (OOM, READONLY, MISCONF, NOREPLICAS) means that nothing was written:
-- Redis refuses a script's first write or none. That is why XADD, which such a Redis refuses, comes first.
--
-- The same call sent again admits nobody twice and answers ACCEPTED again to whom it admitted (rule 3,
-- docs/architecture.md). A refusal may differ by then.

local ACCEPTED, NO_SALE, LOST_TAIL, REBUILDING, NOT_ON_SHELF, PAUSED, NOT_STARTED, ENDED, SOLD_OUT, BACKLOGGED =
  0, 2, 3, 4, 5, 6, 7, 8, 9, 10
local FIRST = 5 -- where the pairs begin in ARGV
local MAX_APPLICANTS = 256
local MAX_DELAY = 60000 -- milliseconds by which units that come back wait at most; as in correct.lua

local call = redis.call
local sale_key, buyers_key, orders_key = KEYS[1], KEYS[2], KEYS[3]
local voucher = ARGV[1]
local known_epoch, known_seq, max_backlog = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local n = (#ARGV - FIRST + 1) / 2
if not (known_epoch and known_seq and max_backlog) or n < 1 or n > MAX_APPLICANTS or n ~= math.floor(n) then
  return redis.error_reply('ERR seckill.lua: bad arguments')
end

-- Read everything first: a script that fails after a write is not undone.
local users = {}
for i = 1, n do
  users[i] = ARGV[FIRST + 2 * i - 2]
end
local clock = call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local sale = call('HMGET', sale_key, 'mode', 'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end',
  'reserved', 'resumes', 'server')
local held = call('HMGET', buyers_key, unpack(users))
local buyers = call('HLEN', buyers_key)
local backlog = call('XLEN', orders_key)

local function number(field)
  return field and tonumber(field) or nil
end
local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
local returned, returned_at = number(sale[5]) or 0, number(sale[6]) or 0
local opens, closes = number(sale[7]), number(sale[8])
local reserved = (number(sale[9]) or 0) > 0 and 1 or 0 -- a returned unit that apply.lua keeps for a revival
local resumes = number(sale[10]) or 0 -- from when a rebuilt sale sells
local readable = epoch and seq and stock and opens and closes
  and (mode == 'open' or mode == 'paused' or mode == 'off' or mode == 'rebuild')

local function answer_all(code)
  local answer = {mode or '', epoch or 0, seq or 0, (stock or 0) + returned + reserved, buyers, opens or 0, closes or 0, now}
  for i = 1, n do
    answer[8 + i] = code
  end
  return answer
end

if not readable then
  mode, epoch, seq, stock, returned, reserved = '', 0, 0, 0, 0, 0
  return answer_all(NO_SALE)
end

-- Whether the server that opened the sale is not this one. A restart or a failover may lose the tail, and admissions that
-- follow unnoticed would fill the gap that tells of it. What cannot be asked is not told.
local function moved()
  if not sale[11] or sale[11] == '' then
    return false
  end
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and not string.find(info, sale[11], 1, true)
end

if epoch < known_epoch or (epoch == known_epoch and seq < known_seq) or moved() then
  if mode ~= 'rebuild' then
    -- Refused when out of memory or read-only; whoever reads this answer has the sale rebuilt all the same.
    redis.pcall('HSET', sale_key, 'mode', 'rebuild')
    mode = 'rebuild'
  end
  return answer_all(LOST_TAIL)
end

-- Units that came back to a sold-out sale join the stock once their time has come (rule 11). A time that is further off
-- than any can be comes from a clock that was set back since, as by a failover to a server that is behind.
if returned > 0 and (now >= returned_at or returned_at - now > MAX_DELAY) then
  stock, returned = stock + returned, 0
end

local refusal -- why nobody who has no place yet gets in
if mode == 'rebuild' then
  refusal = REBUILDING
elseif mode == 'off' then
  refusal = NOT_ON_SHELF
elseif mode == 'paused' then
  refusal = PAUSED
elseif now < opens then
  refusal = NOT_STARTED
elseif now >= closes then
  refusal = ENDED
end

local outcomes = {}
local admitted = 0
local places = {}      -- user, order, user, order…: what HSET writes to buyers
local place_of = {}    -- user -> order of those admitted by this very call
for i = 1, n do
  local user, order = users[i], ARGV[FIRST + 2 * i - 1]
  local place = place_of[user] or held[i]
  if place == order then
    outcomes[i] = ACCEPTED
  elseif place then
    outcomes[i] = place
  elseif refusal then
    outcomes[i] = refusal
  elseif stock - admitted <= 0 then
    outcomes[i] = SOLD_OUT
  elseif now < resumes and resumes - now <= MAX_DELAY then
    outcomes[i] = PAUSED
  elseif backlog + admitted >= max_backlog then
    outcomes[i] = BACKLOGGED
  else
    admitted = admitted + 1
    places[2 * admitted - 1], places[2 * admitted] = user, order
    place_of[user] = order
    outcomes[i] = ACCEPTED
  end
end

if admitted > 0 then
  local epoch_text = sale[2]
  for i = 1, admitted do
    call('XADD', orders_key, '*', 'v', voucher, 'u', places[2 * i - 1], 'o', places[2 * i],
      'e', epoch_text, 's', string.format('%.0f', seq + i))
  end
  call('HSET', buyers_key, unpack(places))
  stock, seq, buyers = stock - admitted, seq + admitted, buyers + admitted
  call('HSET', sale_key, 'stock', string.format('%.0f', stock), 'seq', string.format('%.0f', seq),
    'returned', string.format('%.0f', returned))
end

local answer = {mode, epoch, seq, stock + returned + reserved, buyers, opens, closes, now}
for i = 1, n do
  answer[8 + i] = outcomes[i]
end
return answer
